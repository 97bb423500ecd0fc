package httpfront

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

// writer is a ResponseWriter that records every flush and deadline.
type writer struct {
	header    http.Header
	pending   bytes.Buffer
	flushed   []string
	writes    int
	deadlines []time.Time
	err       error
}

func newWriter() *writer { return &writer{header: http.Header{}} }

func (w *writer) Header() http.Header { return w.header }
func (w *writer) WriteHeader(int)     {}

func (w *writer) Write(b []byte) (int, error) {
	w.writes++
	if w.err != nil {
		return 0, w.err
	}
	return w.pending.Write(b)
}

func (w *writer) FlushError() error {
	w.flushed = append(w.flushed, w.pending.String())
	w.pending.Reset()
	return w.err
}

func (w *writer) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

// script is a source that returns scripted events, with the scripted waits.
type script struct {
	steps []step
	waits []time.Duration
}

type step struct {
	after  time.Duration
	events []engine.Event
	err    error
}

// Next runs in a bubble, where waiting takes no real time.
func (s *script) Next(ctx context.Context, wait time.Duration) ([]engine.Event, error) {
	s.waits = append(s.waits, wait)
	if len(s.steps) == 0 {
		return nil, io.EOF
	}
	st := &s.steps[0]
	if st.after > wait {
		st.after -= wait
		time.Sleep(wait)
		return nil, ctx.Err()
	}
	time.Sleep(st.after)
	s.steps = s.steps[1:]
	return st.events, st.err
}

func event(version int64, frame string) engine.Event {
	e := engine.Event{Entry: task.Entry{Version: version}}
	if frame != "" {
		e.Frame = []byte(frame)
	}
	return e
}

func newSSE(w *writer) *eventWriter {
	return &eventWriter{w: w, rc: http.NewResponseController(w), timeout: 30 * time.Second}
}

func TestSSEFraming(t *testing.T) {
	t.Parallel()
	s := &eventWriter{prefix: []byte(`{"id":7,"result":`), suffix: []byte(`}`)}
	got := string(s.appendEvent(s.appendEvent(nil, 12, []byte(`{"a":1}`)), 0, []byte(`{"b":2}`)))
	want := "id: 12\ndata: {\"id\":7,\"result\":{\"a\":1}}\n\ndata: {\"id\":7,\"result\":{\"b\":2}}\n\n"
	if got != want {
		t.Errorf("appendEvent = %q, want %q", got, want)
	}
}

func TestSSEBegin(t *testing.T) {
	t.Parallel()
	w := newWriter()
	newSSE(w).begin()
	want := http.Header{
		"Content-Type":      {"text/event-stream"},
		"Cache-Control":     {"no-cache, no-transform"},
		"X-Accel-Buffering": {"no"},
	}
	if diff := cmp.Diff(want, w.header); diff != "" {
		t.Errorf("headers mismatch (-want +got):\n%s", diff)
	}
	if len(w.flushed) != 0 {
		t.Errorf("begin flushed %q; errors before the first event must stay plain answers", w.flushed)
	}
}

func TestSSECopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWriter()
		src := &script{steps: []step{
			{events: []engine.Event{event(1, "{a}"), event(2, ""), event(3, "{b}")}},
			{events: []engine.Event{event(4, "")}}, // a message of the caller has no frame
			{after: 40 * time.Second, events: []engine.Event{event(5, "{c}")}},
		}}
		if err := newSSE(w).copy(t.Context(), src, 15*time.Second); err != nil {
			t.Fatalf("copy = %v", err)
		}
		want := []string{
			"id: 1\ndata: {a}\n\nid: 3\ndata: {b}\n\n",
			": keep-alive\n",
			": keep-alive\n",
			"id: 5\ndata: {c}\n\n",
		}
		if diff := cmp.Diff(want, w.flushed); diff != "" {
			t.Errorf("flushes mismatch (-want +got):\n%s", diff)
		}
		if w.writes != len(want) {
			t.Errorf("writes = %d, want one for each batch (%d)", w.writes, len(want))
		}
		for i, d := range src.waits {
			if d != 15*time.Second {
				t.Errorf("Next %d was given %v, want the keep-alive interval", i, d)
			}
		}
	})
}

func TestSSEDeadlinePerWrite(t *testing.T) {
	t.Parallel()
	for _, timed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWriter()
			s := newSSE(w)
			s.timed = timed
			start := time.Now()
			src := &script{steps: []step{
				{events: []engine.Event{event(1, "{a}")}},
				{after: 10 * time.Second, events: []engine.Event{event(2, "{b}")}},
			}}
			if err := s.copy(t.Context(), src, time.Minute); err != nil {
				t.Fatalf("copy = %v", err)
			}
			want := []time.Time{start.Add(30 * time.Second), start.Add(40 * time.Second)}
			if timed {
				want = []time.Time{want[0], {}, want[1], {}}
			}
			if diff := cmp.Diff(want, w.deadlines); diff != "" {
				t.Errorf("timed %t: deadlines mismatch (-want +got):\n%s", timed, diff)
			}
		})
	}
}

// TestSSEPieces sends more events than a piece: they arrive in order, in pieces of which each has the
// whole time, and with one flush at the end. An error ends the writes.
func TestSSEPieces(t *testing.T) {
	t.Parallel()
	w := newWriter()
	var events []engine.Event
	want, frame := "", strings.Repeat("x", 1000)
	for v := range int64(300) {
		events = append(events, event(v+1, frame), event(0, ""))
		want += fmt.Sprintf("id: %d\ndata: %s\n\n", v+1, frame)
	}
	if err := newSSE(w).sendEvents(events); err != nil {
		t.Fatal(err)
	}
	if len(w.flushed) != 1 || w.flushed[0] != want {
		t.Errorf("%d flushes, the first of %d bytes; want one with all events (%d bytes)", len(w.flushed), len(w.flushed[0]), len(want))
	}
	if pieces := len(want)/pieceSize + 1; w.writes != pieces || len(w.deadlines) != pieces {
		t.Errorf("%d writes and %d deadlines, want %d", w.writes, len(w.deadlines), pieces)
	}
	w = newWriter()
	w.err = io.ErrClosedPipe
	if err := newSSE(w).sendEvents(events); !errors.Is(err, io.ErrClosedPipe) || w.writes != 1 {
		t.Errorf("after an error there are %d writes and %v, want one and the error", w.writes, err)
	}
}

func TestSSECopyErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	failure := errors.New("store is gone")
	tests := []struct {
		name   string
		writer error
		steps  []step
		want   error
		reader bool
	}{
		{"reader is gone", broken, []step{{events: []engine.Event{event(1, "{}")}}}, broken, true},
		{"source fails", nil, []step{{err: failure}}, failure, false},
		{"source ends", nil, nil, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter()
			w.err = tt.writer
			err := newSSE(w).copy(t.Context(), &script{steps: tt.steps}, time.Minute)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("copy = %v, want %v", err, tt.want)
			}
			if got := errors.Is(err, errReader); got != tt.reader {
				t.Errorf("copy = %v, is errReader %t, want %t", err, got, tt.reader)
			}
		})
	}
}

func BenchmarkSSEBatch(b *testing.B) {
	w := &discard{header: http.Header{}}
	s := &eventWriter{w: w, rc: http.NewResponseController(w), timeout: time.Second}
	frame := bytes.Repeat([]byte("x"), 300)
	events := make([]engine.Event, 16)
	for i := range events {
		events[i] = engine.Event{Entry: task.Entry{Version: int64(i + 1)}, Frame: frame}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.sendEvents(events); err != nil {
			b.Fatal(err)
		}
	}
}

// discard is a ResponseWriter for benchmarks.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) WriteHeader(int)                  {}
func (d *discard) Write(b []byte) (int, error)      { return len(b), nil }
func (d *discard) FlushError() error                { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
