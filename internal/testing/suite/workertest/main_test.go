package workertest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// workerFlag is the command of another worker.
var workerFlag = flag.String("worker", "", "test this command, which gets the URL of the broker, the name of the agent, and the key of the hub")

func TestMain(m *testing.M) {
	testenv.Parallel(8) // the transcripts wait for times of the contract
	goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit))
}
