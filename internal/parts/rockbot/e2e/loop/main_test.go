package loop

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.Cleanup(rabbittest.Exit))
}
