package crash

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// roleVar makes this program run as one of the processes of a scenario.
const roleVar = "CRASH_ROLE"

func TestMain(m *testing.M) {
	run := map[string]func(context.Context) error{
		hubRole: drained(runHub), workerRole: drained(runWorker), programRole: drained(runProgram),
		remoteRole: serveRemote, packerRole: pack,
	}[os.Getenv(roleVar)]
	if run == nil {
		goleak.VerifyTestMain(hubtest.M{M: m})
		return
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// drained runs a role until the process gets a signal to end.
func drained(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		return run(ctx)
	}
}

// number returns a positive number from the environment, or fallback.
func number(t *testing.T, name string, fallback int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", name, s)
	}
	return n
}
