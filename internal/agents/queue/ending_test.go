package queue_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/worker"
)

// flakyBus is a bus whose broker may be unreachable: Publish then waits in vain, and a new Receive
// waits until the broker is reachable.
type flakyBus struct {
	bus.Bus
	away atomic.Bool
	back chan struct{} // closed once the broker is reachable; nil if it always was
}

func (m *flakyBus) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if m.away.Load() {
		<-ctx.Done()
		return bus.ErrUnavailable
	}
	return m.Bus.Publish(ctx, to, e)
}

func (m *flakyBus) Receive(ctx context.Context, s bus.Subscription) iter.Seq2[*bus.Delivery, error] {
	return func(yield func(*bus.Delivery, error) bool) {
		if m.back != nil {
			select {
			case <-m.back:
			case <-ctx.Done():
				return
			}
		}
		m.Bus.Receive(ctx, s)(yield)
	}
}

// unconfirmed gives a worker a task, and never confirms its events.
func unconfirmed(t *testing.T, b bus.Bus) {
	t.Helper()
	control := subscribe(t, b, protocol.ControlAt("h"))
	publish := func(to bus.Address, kind bus.Type, body any) {
		t.Helper()
		raw, err := protocol.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		e := &bus.Envelope{ID: string(kind), Type: kind, Source: "hub/h", ReplyTo: protocol.ControlAt("h").Name, Task: "t", Epoch: 1, Body: raw}
		if err := b.Publish(t.Context(), to, e); err != nil {
			t.Fatal(err)
		}
	}
	message, err := json.Marshal(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi")))
	if err != nil {
		t.Fatal(err)
	}
	publish(protocol.JobAt("far"), protocol.TypeWork, &protocol.Work{Agent: "far", Delivery: 1, Key: "k", ContextID: "c", Message: message, Reports: protocol.ReportAt("h").Name})
	var c protocol.Claim
	if err := json.Unmarshal((<-control).Body, &c); err != nil {
		t.Fatal(err)
	}
	publish(protocol.WorkerAt(c.Worker), protocol.TypeGrant, &protocol.Grant{Nonce: c.Nonce, Token: "secret", Lease: protocol.Lease.Milliseconds()})
	for d := range control {
		if d.Type == protocol.TypeReport {
			return
		}
	}
}

// TestTimeToStopAWorker stops workers that are idle, or that cannot complete their work.
func TestTimeToStopAWorker(t *testing.T) {
	t.Parallel()
	const courtesy = 500 * time.Millisecond
	for name, tt := range map[string]struct {
		before      func(*testing.T, *flakyBus)
		least, most time.Duration
	}{
		"idle":                        {func(*testing.T, *flakyBus) {}, 0, 0},
		"idle without a broker":       {func(_ *testing.T, m *flakyBus) { m.away.Store(true) }, 0, courtesy},
		"a hub that confirms nothing": {func(t *testing.T, m *flakyBus) { unconfirmed(t, m.Bus) }, 10 * time.Second, 10 * time.Second},
		"no receiver": {func(t *testing.T, m *flakyBus) {
			unconfirmed(t, m.Bus)
			m.away.Store(true)
		}, 10 * time.Second, 10*time.Second + courtesy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var b bus.Memory
				t.Cleanup(func() { b.Close() })
				m := &flakyBus{Bus: &b}
				done := agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
				})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- (&worker.Worker{Bus: m, Name: "far", Executor: done}).Run(ctx) }()
				synctest.Wait()
				tt.before(t, m)
				began := time.Now()
				stop()
				if err := <-ended; err != nil {
					t.Errorf("Run = %v", err)
				}
				if d := time.Since(began); d < tt.least || d > tt.most {
					t.Errorf("the worker ends after %v, want %v to %v", d, tt.least, tt.most)
				}
			})
		})
	}
}

// TestWorkerWaitsForTheBroker: a worker logs that it waits, and that it is ready only when it
// is.
func TestWorkerWaitsForTheBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bus.Memory
		t.Cleanup(func() { b.Close() })
		m := &flakyBus{Bus: &b, back: make(chan struct{})}
		var log lines
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		w := &worker.Worker{Bus: m, Name: "far", Executor: echo, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "waiting for the broker") != 1 || strings.Contains(got, "performing the tasks") {
			t.Errorf("without a broker the worker says %q", got)
		}
		close(m.back)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "performing the tasks of an agent") != 1 {
			t.Errorf("with a broker the worker says %q", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
