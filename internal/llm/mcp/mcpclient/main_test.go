package mcpclient_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if how := os.Getenv("TEST_SERVER"); how != "" {
		serve(how) // this process is the server of a test
		return
	}
	goleak.VerifyTestMain(m)
}
