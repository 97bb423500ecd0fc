package stalled

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/limits"
)

const (
	floodChunks = 1200 // 20 MB
	senders     = 64
	// maxGrowth limits the memory that a stalled reader and all other callers may occupy.
	maxGrowth = 64 << 20
)

// The strong form of defect 1: a reader that never reads, on a task of 20 MB, must not cost
// another reader an event, hold up other senders, or fill the memory of the hub. The hub never
// disconnects it here, so that all that waited for it would wait until the test fails.
func TestStalledReader(t *testing.T) { //nolint:paralleltest // it measures the heap
	var w watchdog
	h := start(t, options{
		store: newStore(t, "sqlite"), connState: w.connState, limits: &limits.Limits{WriteTime: time.Hour},
	})
	heap := heapInUse()
	stalled := h.stall("ann", &w)
	sending := h.send("sender", senders)
	defer sending.stop(t)
	beside := h.flooded(t, stalled)
	sending.stop(t)
	t.Logf("heap in use: %d KiB at first, %d KiB beside the stalled reader", heap>>10, beside>>10)
	if beside > heap+maxGrowth {
		t.Errorf("the heap has grown by %d MiB, want less than %d", (beside-heap)>>20, maxGrowth>>20)
	}
	select {
	case <-stalled.cut:
		t.Error("the stalled reader was cut off before its time, so it did not stall the hub")
	default:
	}
	if state := w.state(stalled.LocalAddr()); state != http.StateActive {
		t.Errorf("the connection of the stalled reader is %v, want an unfinished answer", state)
	}
}

// stall opens a stream of a flood, reads its first event, and then stops reading.
func (h *hub) stall(user string, w *watchdog) *stalledReader {
	h.t.Helper()
	s, err := h.tryStall(user, w)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// tryStall is stall on a hub that may cut the reader off before its first event.
func (h *hub) tryStall(user string, w *watchdog) (*stalledReader, error) {
	h.t.Helper()
	s := &stalledReader{raw: h.dial(4096)}
	s.cut = w.watch(s.LocalAddr())
	s.post(user, "/v1/a2a/flood/message:stream", sendParams(fmt.Sprint(floodChunks)))
	one := make([]byte, 1)
	for !bytes.HasSuffix(s.seen, []byte(`","contextId"`)) {
		if _, err := s.Read(one); err != nil {
			return nil, fmt.Errorf("read first event: %w", err)
		}
		s.seen = append(s.seen, one...)
	}
	_, id, _ := strings.Cut(string(s.seen), `"task":{"id":"`)
	s.id = strings.TrimSuffix(id, `","contextId"`)
	return s, nil
}

// stalledReader is a connection on which only the beginning of a stream was read.
type stalledReader struct {
	*raw
	id   string
	seen []byte
	// cut receives the time at which the hub closes the connection.
	cut <-chan time.Time
}

// flooded reads the flood of the stalled reader to the end. No event may be missing. It returns
// the heap in use shortly before the end.
func (h *hub) flooded(t *testing.T, stalled *stalledReader) (heap uint64) {
	t.Helper()
	last := []string{"Last-Event-ID: 1"}
	resp := h.stream(t.Context(), call{"ann", "POST", "/tasks/" + stalled.id + ":subscribe", "", last})
	version := int64(1)
	for ev, err := range events(resp.Body) {
		if version++; err != nil || ev.id != version {
			t.Fatalf("event %d after %d: %v", ev.id, version-1, err)
		}
		checkChunk(t, ev)
		if version == floodChunks*3/4 {
			heap = heapInUse()
		}
	}
	if version != floodChunks+2 {
		t.Fatalf("the stream ended with event %d, want %d", version, floodChunks+2)
	}
	return heap
}

// checkChunk fails the test unless the event has the chunk of its version in a flood.
func checkChunk(t *testing.T, ev event) {
	t.Helper()
	want := fmt.Sprintf(`"parts":[{"text":"%08d x`, ev.id-2)
	switch ev.id {
	case 1:
		want = `{"task":{`
	case floodChunks + 2:
		want = `"TASK_STATE_COMPLETED"`
	}
	if !strings.Contains(ev.data, want) {
		t.Fatalf("event %d is %.200s, want %s", ev.id, ev.data, want)
	}
}

// heapInUse returns the bytes of the heap in use after a garbage collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// watchdog follows the states of connections, and reports when the server closes one.
type watchdog struct {
	mu     sync.Mutex // guards the fields below
	peers  map[string]chan time.Time
	states map[string]http.ConnState
}

func (w *watchdog) connState(c net.Conn, s http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	peer := c.RemoteAddr().String()
	at := w.peers[peer]
	if at == nil {
		return
	}
	w.states[peer] = s
	if s == http.StateClosed {
		at <- time.Now()
	}
}

// watch returns a channel that receives the time at which the server closes the connection to
// peer. It is called before the first request.
func (w *watchdog) watch(peer net.Addr) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peers == nil {
		w.peers, w.states = make(map[string]chan time.Time), make(map[string]http.ConnState)
	}
	at := make(chan time.Time, 1)
	w.peers[peer.String()] = at
	return at
}

// state returns the last known state of a watched connection.
func (w *watchdog) state(peer net.Addr) http.ConnState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.states[peer.String()]
}

// sending is a set of senders that wait for their answers.
type sending struct {
	over context.CancelFunc
	wg   sync.WaitGroup
}

// send starts n senders. Each sends until stop, and completes at least one whole exchange.
func (h *hub) send(user string, n int) *sending {
	ctx, over := context.WithCancel(h.t.Context())
	s := &sending{over: over}
	for i := range n {
		s.wg.Go(func() {
			for first := true; first || ctx.Err() == nil; first = false {
				a, err := h.try(h.t.Context(), call{fmt.Sprintf("%s-%d", user, i), "POST", "/v1/a2a/message:send", sendParams("hi"), nil})
				if err != nil || a.code != 200 || !strings.Contains(a.body, `"TASK_STATE_COMPLETED"`) {
					h.t.Errorf("send beside a stalled reader: %d %s %v", a.code, a.body, err)
					return
				}
			}
		})
	}
	return s
}

// stop waits until every sender has its last answer; it may be called again.
func (s *sending) stop(t *testing.T) {
	t.Helper()
	s.over()
	s.wg.Wait()
}
