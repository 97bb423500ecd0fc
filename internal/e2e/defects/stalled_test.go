package defects

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/front/httpfront"
)

const (
	floodChunks = 1200 // 20 MB
	senders     = 64
	writeTime   = 4 * time.Second
	// maxGrowth limits the memory that a stalled reader and all other callers may occupy.
	maxGrowth = 64 << 20
)

// The strong form of defect 1: a reader that never reads, on a task of 20 MB, must not cost
// another reader an event, delay other senders, or fill the memory of the hub. The hub
// disconnects it, and it gets the rest after it reconnects.
func TestStalledReader(t *testing.T) { //nolint:paralleltest // it measures latencies
	var w watchdog
	h := start(t, options{
		store: newStore(t, "sqlite"), connState: w.connState, limits: &httpfront.Limits{WriteTime: writeTime},
	})
	load := h.load("sender")
	defer load.stop()
	heap := heapInUse()
	load.phase(before)
	healthy := h.flooded(t, nil)
	stalled := h.stall("ann")
	cut := w.watch(stalled.LocalAddr())
	load.phase(during)
	beside := h.flooded(t, stalled)
	load.stop()
	load.report(t)
	t.Logf("a reader took %v, one beside a stalled reader %v", healthy.took, beside.took)
	if beside.took > 3*healthy.took+time.Second {
		t.Errorf("a reader beside a stalled one took %v, want about %v", beside.took, healthy.took)
	}
	t.Logf("heap in use: %d KiB at first, %d KiB beside the stalled reader", heap>>10, beside.heap>>10)
	if beside.heap > heap+maxGrowth {
		t.Errorf("the heap has grown by %d MiB, want less than %d", (beside.heap-heap)>>20, maxGrowth>>20)
	}
	select {
	case at := <-cut:
		t.Logf("the stalled reader was cut off %v after the other had read everything", at.Sub(beside.end))
	case <-time.After(writeTime + patience):
		t.Fatal("the stalled reader was not cut off")
	}
	h.resumes(t, stalled)
}

// stall opens a stream of a flood, reads its first event, and then stops reading.
func (h *hub) stall(user string) *stalledReader {
	h.t.Helper()
	s := &stalledReader{raw: h.dial(4096)}
	s.post(user, "/v1/a2a/flood/message:stream", sendParams(fmt.Sprint(floodChunks)))
	one := make([]byte, 1)
	for !bytes.HasSuffix(s.seen, []byte(`","contextId"`)) {
		if _, err := s.Read(one); err != nil {
			h.t.Fatalf("read first event: %v", err)
		}
		s.seen = append(s.seen, one...)
	}
	_, id, _ := strings.Cut(string(s.seen), `"task":{"id":"`)
	s.id = strings.TrimSuffix(id, `","contextId"`)
	return s
}

// stalledReader is a connection on which only the beginning of a stream was read.
type stalledReader struct {
	*raw
	id   string
	seen []byte
}

// flooding is the measured result of a flood for one reader.
type flooding struct {
	took time.Duration
	end  time.Time
	heap uint64
}

// flooded reads the flood of the stalled reader, or of a new one that reads concurrently, to
// the end. No event may be missing.
func (h *hub) flooded(t *testing.T, stalled *stalledReader) flooding {
	t.Helper()
	if stalled == nil {
		resp := h.stream(t.Context(), call{"ann", "POST", "/flood/message:stream", sendParams(fmt.Sprint(floodChunks)), nil})
		r := h.read(resp.Body)
		stalled = &stalledReader{id: r.event().frame(t).Task.ID}
		done := make(chan int, 1)
		go func() { done <- len(r.rest()) }()
		defer func() {
			if n := <-done; n != floodChunks+1 {
				t.Errorf("the first reader saw %d events, want %d", n, floodChunks+1)
			}
		}()
	}
	var f flooding
	began := time.Now()
	last := []string{"Last-Event-ID: 1"}
	resp := h.stream(t.Context(), call{"ann", "POST", "/tasks/" + stalled.id + ":subscribe", "", last})
	version := int64(1)
	for ev, err := range events(resp.Body) {
		if version++; err != nil || ev.id != version {
			t.Fatalf("event %d after %d: %v", ev.id, version-1, err)
		}
		checkChunk(t, ev)
		if version == floodChunks*3/4 {
			f.heap = heapInUse()
		}
	}
	if version != floodChunks+2 {
		t.Fatalf("the stream ended with event %d, want %d", version, floodChunks+2)
	}
	f.end = time.Now()
	f.took = f.end.Sub(began)
	return f
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

// resumes reads a part of the data that the kernel still has for the stalled reader, reconnects
// for the rest, and checks that both are complete together. The kernel delivers the data
// slowly, because the window is small.
func (h *hub) resumes(t *testing.T, stalled *stalledReader) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(stalled.seen), stalled)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	r := h.read(resp.Body)
	var last int64
	for range 3 {
		ev := r.event()
		gapless(t, last, []event{ev})
		checkChunk(t, ev)
		last = ev.id
	}
	from := []string{fmt.Sprintf("Last-Event-ID: %d", last)}
	rest := h.read(h.stream(t.Context(), call{"ann", "POST", "/tasks/" + stalled.id + ":subscribe", "", from}).Body).rest()
	gapless(t, last, rest)
	if n := last + int64(len(rest)); n != floodChunks+2 {
		t.Errorf("after the rest the reader is at event %d, want %d", n, floodChunks+2)
	}
	for _, ev := range rest {
		checkChunk(t, ev)
	}
}

// heapInUse returns the bytes of the heap in use after a garbage collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// watchdog reports when the server closes a connection.
type watchdog struct {
	mu    sync.Mutex // guards the fields below
	peers map[string]chan time.Time
}

func (w *watchdog) connState(c net.Conn, s http.ConnState) {
	if s != http.StateClosed {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.peers[c.RemoteAddr().String()]; at != nil {
		at <- time.Now()
	}
}

// watch returns a channel that receives the time at which the server closes the connection to
// peer.
func (w *watchdog) watch(peer net.Addr) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.peers == nil {
		w.peers = make(map[string]chan time.Time)
	}
	at := make(chan time.Time, 1)
	w.peers[peer.String()] = at
	return at
}

// The phases of a load.
const (
	warm int32 = iota
	before
	during
	phases
)

// load is a set of senders that wait for their answers, with the measured waiting times.
type load struct {
	now    atomic.Int32
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the field below
	waits [phases][]time.Duration
}

// load starts the senders.
func (h *hub) load(user string) *load {
	ctx, cancel := context.WithCancel(h.t.Context())
	l := &load{cancel: cancel}
	for i := range senders {
		l.wg.Go(func() { l.send(ctx, h, fmt.Sprintf("%s-%d", user, i)) })
	}
	return l
}

func (l *load) send(ctx context.Context, h *hub, user string) {
	var waits [phases][]time.Duration
	for ctx.Err() == nil {
		phase, began := l.now.Load(), time.Now()
		a, err := h.try(ctx, call{user, "POST", "/v1/a2a/message:send", sendParams("hi"), nil})
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil || a.code != 200 || !strings.Contains(a.body, `"TASK_STATE_COMPLETED"`):
			h.t.Errorf("send beside a flood: %d %s %v", a.code, a.body, err)
			return
		case phase == l.now.Load():
			waits[phase] = append(waits[phase], time.Since(began))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range waits {
		l.waits[p] = append(l.waits[p], waits[p]...)
	}
}

func (l *load) phase(p int32) { l.now.Store(p) }

// stop ends the senders; it may be called again.
func (l *load) stop() {
	l.cancel()
	l.wg.Wait()
}

// report compares the times before and during the stall. A flood of the same size runs in both
// phases, so that only the stall differs.
func (l *load) report(t *testing.T) {
	t.Helper()
	var p50, p99 [phases]time.Duration
	for p := before; p < phases; p++ {
		w := l.waits[p]
		if len(w) < senders {
			t.Fatalf("%d messages in phase %d, want at least %d", len(w), p, senders)
		}
		slices.Sort(w)
		p50[p], p99[p] = w[len(w)/2], w[len(w)*99/100]
		t.Logf("phase %d: %d messages, p50 %v, p99 %v", p, len(w), p50[p], p99[p])
	}
	const slack = 50 * time.Millisecond
	if p50[during] > 3*p50[before]+slack || p99[during] > 3*p99[before]+slack {
		t.Errorf("beside a stalled reader senders wait p50 %v, p99 %v; want about %v and %v",
			p50[during], p99[during], p50[before], p99[before])
	}
}

// A caller that does not read the answer of an ordinary call is disconnected, too.
func TestStalledAnswer(t *testing.T) {
	t.Parallel()
	var w watchdog
	h := start(t, options{connState: w.connState, limits: &httpfront.Limits{WriteTime: 500 * time.Millisecond}})
	id := h.to("ann", "flood", sendParams("400")).ID
	c := h.dial(4096)
	cut := w.watch(c.LocalAddr())
	c.post("ann", "/a2a", envelope("GetTask", `{"id":"`+id+`"}`))
	began := time.Now()
	select {
	case at := <-cut:
		if took := at.Sub(began); took < 400*time.Millisecond {
			t.Errorf("the connection was closed after %v, want the write deadline", took)
		}
	case <-time.After(patience):
		t.Fatal("the connection was not cut off")
	}
	h.alive("ann")
}
