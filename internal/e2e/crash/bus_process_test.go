package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
	agentworker "github.com/parley-a2a/parley/worker"
)

// The roles of processes in the scenarios of a broker, and the environment variables of these
// roles. A worker that is the command has the name of its agent as its role.
const (
	hubRole     = "hub"
	workerRole  = "worker"
	programRole = "program"

	busVar    = "CRASH_BUS"
	addrVar   = "CRASH_ADDR"
	dataVar   = "CRASH_DATA"
	recordVar = "CRASH_RECORD"
	listenVar = "CRASH_LISTEN" // of a broker within the hub; empty without one
)

// busToken is the token of the broker within the hub.
const busToken = "secret"

// The leases of a job and of a delivery.
const (
	jobLease    = 3 * time.Second
	brokerLease = 3 * time.Second
)

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// The agents: robust is idempotent, careful may be executed only once.
const (
	robust  = "robust"
	careful = "careful"
	ownID   = "h" // of a hub that is not the command
)

// hasty is a bus that soon redelivers unacknowledged messages.
type hasty struct {
	bus.Bus
	bus.Durability
}

// Receive implements bus.Bus.
func (h *hasty) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	s.Lease = brokerLease
	return h.Bus.Receive(ctx, s)
}

// openBus connects to the broker for a process, or for the test.
func openBus(ctx context.Context, url string) (bus.Bus, error) {
	b, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	keeper, ok := b.(bus.Durability)
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

// runHub runs the process of the hub.
func runHub(ctx context.Context) error {
	store, err := sqlitestore.Open(os.Getenv(dataVar), sqlitestore.Options{})
	if err != nil {
		return err
	}
	b, closing, err := hubBus(ctx)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = serveHub(ctx, store, b)
	return errors.Join(err, b.Close(), closing(), store.Close())
}

// hubBus connects to the broker, or starts the embedded one.
func hubBus(ctx context.Context) (b bus.Bus, closing func() error, err error) {
	listen := os.Getenv(listenVar)
	if listen == "" {
		b, err = openBus(ctx, os.Getenv(busVar))
		return b, func() error { return nil }, err
	}
	s, err := embedded.Start(embedded.Options{Listen: listen, Token: busToken, Logger: logger()})
	if err != nil {
		return nil, nil, err
	}
	inner, err := s.Open(ctx, natsbus.Options{Logger: logger()})
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return &hasty{inner, inner}, s.Close, nil
}

func serveHub(ctx context.Context, store *sqlitestore.DB, b bus.Bus) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", os.Getenv(addrVar))
	if err != nil {
		return err
	}
	d := &queue.Dispatcher{Bus: b, ID: ownID, Tasks: store.Tasks(), Lease: jobLease, Logger: logger()}
	desk := &queue.DeadLetters{Bus: b, Store: store.Letters(), Logger: logger(), Undelivered: d.Undeliverable}
	h := &parley.Hub{Store: store.Tasks(), Logger: logger(), Idempotency: parley.Idempotency{Header: true}}
	for _, name := range []string{robust, careful} {
		h.Handle(&a2a.AgentCard{Name: name}, &queue.Agent{Dispatcher: d})
	}
	hearing, deafen := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() { errs[0] = d.Run(hearing) })
	wg.Go(func() { errs[1] = desk.Run(hearing) })
	over, stop := context.WithCancel(ctx)
	wg.Go(func() {
		select {
		case <-h.Engine().Recovered():
			logger().Info("ready")
		case <-over.Done():
		}
	})
	err = h.Serve(ctx, l)
	stop()
	deafen()
	wg.Wait()
	return errors.Join(err, errs[0], errs[1])
}

// record is one line in the file of executions by workers.
type record struct {
	Agent   string `json:"agent"`
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	Task    string `json:"task"`
	Run     string `json:"run"`
}

// runWorker runs a process with a worker for each agent.
func runWorker(ctx context.Context) error {
	b, err := openBus(ctx, os.Getenv(busVar))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv(recordVar), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	x := &executor{file: file}
	var wg sync.WaitGroup
	var errs [2]error
	for i, name := range []string{robust, careful} {
		w := &agentworker.Worker{
			Bus: b, Name: task.Agent(name), Concurrency: 4, DrainTimeout: time.Second, Logger: logger(),
			Executor: agent.With(agent.Func(x.execute), agent.Traits{Idempotent: name == robust}),
		}
		wg.Go(func() { errs[i] = w.Run(ctx) })
	}
	logger().Info("ready")
	wg.Wait()
	return errors.Join(errs[0], errs[1], b.Close(), file.Close())
}

// executor performs the instructions in messages. "stream 12" writes twelve chunks; "ask 12"
// asks a question first; "fail 12" fails after the chunks.
type executor struct{ file *os.File }

func (x *executor) execute(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	run, err := x.note(agent.CallFrom(ctx), ec)
	if err != nil {
		yield(nil, err)
		return
	}
	what, number, _ := strings.Cut(agent.Text(ec.Message), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		yield(nil, err)
		return
	}
	if what == "ask" {
		yield(status(ec, a2a.TaskStateInputRequired, "how many?"), nil)
		return
	}
	if !stream(ctx, ec, run, n, yield) {
		return
	}
	if what == "fail" {
		yield(nil, a2a.NewError(a2a.ErrInternalError, "as it was told to"))
		return
	}
	yield(status(ec, a2a.TaskStateCompleted, run), nil)
}

// note records the execution durably before anything else happens.
func (x *executor) note(call *agent.Call, ec *a2asrv.ExecutorContext) (run string, err error) {
	run = uuid.NewString()[:8]
	line, err := json.Marshal(record{string(call.Agent), call.Key, call.Attempt, string(ec.TaskID), run})
	if err != nil {
		return "", err
	}
	_, err = x.file.Write(append(line, '\n'))
	return run, err
}

// stream yields n chunks, each with the run and its number.
func stream(ctx context.Context, ec *a2asrv.ExecutorContext, run string, n int, yield func(a2a.Event, error) bool) bool {
	think := 200 * time.Millisecond // so that some runs are killed before their first output
	if rand.N(3) == 0 {
		think = 2 * time.Second // so that a run overlaps with the one that replaces it
	}
	timer := time.NewTimer(rand.N(think))
	defer timer.Stop()
	for i := range n {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
		part := a2a.NewTextPart(fmt.Sprintf("%s:%d ", run, i))
		ev := a2a.NewArtifactUpdateEvent(ec, a2a.ArtifactID("said-"+run), part)
		ev.Append = i > 0
		if !yield(ev, nil) {
			return false
		}
		timer.Reset(rand.N(20 * time.Millisecond))
	}
	return true
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	return a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}
