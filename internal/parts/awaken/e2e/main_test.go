package awaken

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(8) // tests wait for the hub to try again
	goleak.VerifyTestMain(hubtest.M{M: m})
}
