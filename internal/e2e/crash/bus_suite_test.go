package crash

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/natstest"
)

// brokers are the brokers for the suite. The embedded one ends with its hub and stores nothing.
var brokers = map[string]func(*testing.T) *broker{
	"DebianNATS":             func(t *testing.T) *broker { return onNATS(t, natstest.Debian(t)) },
	"CurrentNATS":            func(t *testing.T) *broker { return onNATS(t, natstest.Current(t)) },
	"Embedded":               onEmbedded,
	"RabbitMQ":               onRabbit,
	"CommandsWithoutABroker": func(t *testing.T) *broker { return commands(onEmbedded(t)) },
	"CommandsOnNATS":         func(t *testing.T) *broker { return commands(onNATS(t, natstest.Debian(t))) },
	"CommandsOnRabbitMQ":     func(t *testing.T) *broker { return commands(onRabbit(t)) },
}

func TestBrokers(t *testing.T) {
	t.Parallel()
	for name, start := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, start)
		})
	}
}

// suite injects faults into a broker, its hub and its workers, and then checks the results.
func suite(t *testing.T, start func(*testing.T) *broker) {
	n, seed := number(t, "PARLEY_BUS_FAULTS", 12), number(t, "PARLEY_BUS_SEED", rand.Int())
	began := time.Now()
	w := newBusSystem(t, start(t), uint64(seed)) //nolint:gosec // positive
	t.Logf("PARLEY_BUS_SEED=%d; the world took %v", seed, time.Since(began))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+time.Duration(n)*10*time.Second)
	defer cancel()
	begin, last := context.WithCancel(ctx)
	defer last()
	began = time.Now()
	over := w.gather(ctx, begin)
	t.Cleanup(func() { cancel(); <-over })
	w.hurt(ctx, n)
	for ; !enough(w.crowd.sum()); n++ { // on a slow machine
		w.hurt(ctx, 1)
	}
	took := time.Since(began)
	w.calm()
	last()
	<-over
	settled := time.Since(began) - took
	patience, done := context.WithTimeout(ctx, 2*time.Minute)
	defer done()
	w.empty(patience)
	judge(t, w)
	t.Logf("%d faults in %v: %v; settled after %v, empty after %v", n, took.Round(time.Millisecond), w.done,
		settled.Round(time.Millisecond), (time.Since(began) - took).Round(time.Millisecond))
}

// enough reports whether the load proves anything.
func enough(sum tally) bool { return len(sum.ids) >= 10 && sum.resumed > 0 }

// Sleeping workers may hold all available jobs, on a broker without a lease. They wake by
// themselves, although the test waits for a message that they must release first.
func TestAllWorkersSleep(t *testing.T) {
	t.Parallel()
	w := newBusSystem(t, onRabbit(t), 1)
	ctx, cancel := context.WithCancel(t.Context())
	w.staffed(ctx)
	for _, p := range w.workers {
		w.sleep(p)
	}
	over := w.gather(ctx, ctx)
	t.Cleanup(func() { cancel(); <-over })
	w.wait(ctx, time.Second) // each caller waits for a sleeping worker now
	w.doubleWork()
}

// judge checks the results, the queues and the dead letters.
func judge(t *testing.T, w *busSystem) {
	t.Helper()
	sum := w.crowd.sum()
	violations := w.crowd.violations()
	for _, err := range violations {
		t.Error(err)
	}
	letters := w.stop()
	if !w.broker.inside { // the embedded broker has ended with its hub
		w.silent(sum.ids)
	}
	for _, l := range letters {
		// RabbitMQ gives no reason for a message that it dead-letters itself because the worker
		// could not.
		known := strings.Contains(l.Reason, "delivered") || l.Reason == "broker: rejected"
		// Work is published while its task is being stored. If the hub is killed before the end
		// of that, there is no such task, and no caller has its id.
		if l.stored != sum.ids[l.Task] || !known {
			t.Errorf("dead letter of task %q (stored: %v) at %s: %s from %s: %s", l.Task, l.stored, l.Queue, l.Type, l.Source, l.Reason)
		}
	}
	most, runs := map[string]int{careful: 1, robust: 3}, map[string]int{}
	lines := readLedger(t, w.record)
	for _, j := range w.crowd.jobs {
		if err := j.checkExit(lines); err != nil {
			t.Error(err)
		}
	}
	for name, messages := range executions(lines) {
		for message, n := range messages {
			runs[name] += n
			if n > most[name] {
				t.Errorf("message %q of agent %s was executed %d times", message, name, n)
			}
		}
	}
	t.Logf("%d tasks: %d completed, %d failed with their workers, %d canceled; %d readers resumed, %d messages came again; "+
		"executions: %v; %d dead letters; %d violations",
		len(sum.ids), sum.completed, sum.lost, sum.canceled, sum.resumed, sum.repeated, runs, len(letters), len(violations))
	if !enough(sum) {
		t.Error("the load was too small to prove anything")
	}
}
