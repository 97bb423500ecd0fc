package queue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// slowTopics is a bus that takes a while for each envelope to a topic.
type slowTopics struct {
	bus.Bus
	*counter
}

// counter counts published envelopes, by the kind of the source and the type.
type counter struct {
	mu   sync.Mutex // guards sent
	sent map[string]int
}

func newCounter() *counter { return &counter{sent: map[string]int{}} }

func (l *counter) count(to bus.Address, e *bus.Envelope) {
	from, _, _ := strings.Cut(e.Source, "/")
	kind := string(e.Type)
	if e.Type == protocol.TypeWork && to.Kind == bus.TopicKind {
		kind = "offer"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[from+" "+kind]++
}

// Publish implements bus.Bus. It runs in a bubble.
func (b *slowTopics) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	b.count(to, e)
	if to.Kind == bus.TopicKind {
		time.Sleep(10 * time.Millisecond)
	}
	return b.Bus.Publish(ctx, to, e)
}

// newKeys returns the signer of a hub, and the keys of a worker that trusts it.
func newKeys(t *testing.T) (*bus.Signer, *bus.Keyring) {
	t.Helper()
	signer, err := bus.NewSigner("h", nil)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := bus.NewKeyring(signer.HubKey())
	if err != nil {
		t.Fatal(err)
	}
	return signer, ring
}

// Simultaneous messages between a hub and a worker are sent together and signed once.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, ring := newKeys(t)
		l := newCounter()
		h := startHub(t, func(d *queue.Dispatcher) {
			d.Bus, d.Signer = &slowTopics{d.Bus, l}, signer
		})
		const tasks = 40
		h.startWorker(echo, func(w *worker.Worker) {
			w.Keys, w.Concurrency = ring, tasks
			w.Bus = &slowTopics{w.Bus, l}
		})
		var ids []a2a.TaskID
		for i := range tasks {
			ids = append(ids, h.send(returnImmediately(newSend(fmt.Sprint("hi ", i)))).Head.ID)
		}
		for i, id := range ids {
			if got, want := describe(h.wait(id, task.Completed)), fmt.Sprint("TASK_STATE_COMPLETED hi ", i); got != want {
				t.Errorf("a task is %s, want %s", got, want)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, from := range []string{"hub ", "worker "} {
			batches, single := l.sent[from+string(protocol.TypeBatch)], 0
			for _, kind := range []bus.Type{protocol.TypeClaim, protocol.TypeGrant, protocol.TypeReport, protocol.TypeConfirm} {
				single += l.sent[from+string(kind)]
			}
			if batches == 0 || batches+single > tasks/2 {
				t.Errorf("%shas published %d batches and %d single envelopes about %d tasks", from, batches, single, tasks)
			}
		}
	})
}

// A worker that has not announced support for batches gets none: each of two simultaneous
// claims is answered with an envelope of its own.
func TestNoBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newCounter()
		h := startHub(t, func(d *queue.Dispatcher) { d.Bus = &slowTopics{d.Bus, l} })
		p := h.startManualWorker()
		for i := range 3 {
			h.send(returnImmediately(newSend(fmt.Sprint(i))))
		}
		for range 3 { // at once: each answer takes a while
			j := p.take()
			j.send(bus.Topic(j.d.ReplyTo), protocol.TypeClaim, 0, &protocol.Claim{Delivery: j.work.Delivery, Worker: j.id, Nonce: j.nonce})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := l.sent["hub "+string(protocol.TypeBatch)]; n != 0 || l.sent["hub "+string(protocol.TypeGrant)] != 3 {
			t.Errorf("the hub has published %v, want three grants and no batch", l.sent)
		}
	})
}

// A batch that cannot be decoded changes nothing.
func TestBadBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		h.startWorker(echo, nil)
		for _, body := range []string{`7`, `{"envelopes":[{"type":"job.batch"}]}`, `{"envelopes":[{"type":"job.claim","task":"no","body":{}}]}`} {
			e := &bus.Envelope{ID: "b", Type: protocol.TypeBatch, Source: "worker/w", Body: []byte(body)}
			if err := h.bus.Publish(t.Context(), protocol.ControlAt("h"), e); err != nil {
				t.Fatal(err)
			}
		}
		if got := describe(h.send(newSend("fine"))); got != "TASK_STATE_COMPLETED fine" {
			t.Errorf("the task is %s", got)
		}
	})
}
