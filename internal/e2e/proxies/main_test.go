package proxies

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(60) // streams wait for longer than a minute
	goleak.VerifyTestMain(hubtest.M{M: m})
}
