package manual

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(cellEnv); script != "" {
		enterCell(script)
	}
	goleak.VerifyTestMain(hubtest.M{M: m})
}
