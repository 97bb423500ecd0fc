package rockbot_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
		rabbittest.Exit(code)
	}))
}
