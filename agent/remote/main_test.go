package remote_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(16) // most tests wait for silent agents
	goleak.VerifyTestMain(m)
}
