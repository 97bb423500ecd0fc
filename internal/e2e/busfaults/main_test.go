package busfaults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/amqpbus"
	"github.com/parley-a2a/parley/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// The variables that make this program a hub or a worker.
const (
	roleVar   = "BUSFAULTS_ROLE"
	busVar    = "BUSFAULTS_BUS"
	addrVar   = "BUSFAULTS_ADDR"
	dataVar   = "BUSFAULTS_DATA"
	recordVar = "BUSFAULTS_RECORD"
	listenVar = "BUSFAULTS_LISTEN" // of a broker within the hub; empty without one
)

// The processes, beside the workers of the command, which are called as their agents.
const (
	hubRole    = "hub"
	workerRole = "worker"
)

// readyWords are what processes say when they are ready: the hub, and a worker of the
// command.
var readyWords = []string{"msg=ready", "performing the tasks of an agent"}

// token opens the broker within the hub.
const token = "secret"

// The leases: of a job, and of what the broker has handed out.
const (
	jobLease    = 3 * time.Second
	brokerLease = 3 * time.Second
)

func TestMain(m *testing.M) {
	roles := map[string]func(context.Context) error{
		hubRole: runHub, workerRole: runWorker, "program": func(context.Context) error { return runProgram() },
	}
	if role := roles[os.Getenv(roleVar)]; role != nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := role(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(hubtest.M{M: m})
}

// openBus connects to the broker of a process, or of the test.
func openBus(ctx context.Context, url string) (bus.Bus, error) {
	b, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	keeper, ok := b.(bus.Keeper)
	if !ok {
		return nil, errors.Join(errors.New("the bus does not say whether it keeps"), b.Close())
	}
	return &hasty{b, keeper}, nil
}

func connect(ctx context.Context, url string) (bus.Bus, error) {
	if strings.HasPrefix(url, "amqp:") {
		return &amqpbus.Bus{URL: url, Logger: logger()}, nil
	}
	return natsbus.Open(ctx, natsbus.Options{URL: url, Logger: logger()})
}
