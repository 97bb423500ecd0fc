package queue_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/worker"
)

// image returns n random bytes, which compress as badly as an image.
func image(n int) []byte {
	b := make([]byte, n)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b) // it never fails
	return b
}

// show returns a message with an image.
func show(id string, pixels []byte) *op.Send {
	r := newSend(id)
	r.Message.Body, _ = json.Marshal(map[string]any{"messageId": "m-" + id, "role": "ROLE_USER", "parts": []any{
		map[string]string{"raw": base64.StdEncoding.EncodeToString(pixels), "mediaType": "image/png"},
	}})
	return r
}

// mirror answers with the image of the message, and asks for the next one.
var mirror = agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	ev := a2a.NewArtifactEvent(ec, ec.Message.Parts[0])
	ev.Artifact.ID = a2a.ArtifactID("of-" + ec.Message.ID)
	if yield(ev, nil) {
		yield(status(ec, a2a.TaskStateInputRequired, "next?"), nil)
	}
})

// shown wants the last artifact of a task to be an image.
func (h *hub) shown(id a2a.TaskID, want []byte) {
	h.t.Helper()
	var got struct{ Parts []struct{ Raw []byte } }
	for _, ev := range h.events(id, task.InputRequired) {
		if ev.Kind == task.Artifact {
			if err := json.Unmarshal(ev.Body, &got); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	if len(got.Parts) != 1 || string(got.Parts[0].Raw) != string(want) {
		h.t.Errorf("task %s has not the image of %d bytes that was sent", id, len(want))
	}
}

// losing returns a drop of a wire that loses each nth envelope of a type; nth counts from 1.
func losing(kind bus.Type, nth int64, count *atomic.Int64) func(*bus.Envelope) bool {
	return func(e *bus.Envelope) bool { return e.Type == kind && count.Add(1)%nth == 0 }
}

// TestLarge sends an image there and back, while pieces are lost, and then a second message for
// the large task.
func TestLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pieces, fetches, reports atomic.Int64
		h := startHub(t, func(d *queue.Dispatcher) {
			d.Bus = &wire{Bus: d.Bus, drop: losing(protocol.TypeReport, 5, &reports)}
		})
		h.startWorker(mirror, func(w *worker.Worker) {
			piece, fetch := losing(protocol.TypePiece, 3, &pieces), losing(protocol.TypeFetch, 4, &fetches)
			w.Bus = &wire{Bus: w.Bus, drop: func(e *bus.Envelope) bool { return piece(e) || fetch(e) }}
		})
		pixels := image(2 << 20)
		a := h.send(show("first", pixels))
		h.shown(a.Head.ID, pixels)
		more := show("second", pixels[:1<<20])
		more.Message.TaskID = a.Head.ID
		if got := describe(h.send(more)); got != "TASK_STATE_INPUT_REQUIRED next?" {
			t.Errorf("the second message makes it %s", got)
		}
		if pieces.Load() < 12 || fetches.Load() < 12 || reports.Load() < 8 {
			t.Errorf("%d pieces, %d fetches and %d reports were on the wire", pieces.Load(), fetches.Load(), reports.Load())
		}
	})
}

// TestLargeAndARestart restarts the hub while the message is fetched, and while the answer is
// on its way.
func TestLargeAndARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pieces, reports atomic.Int64
		var w wire
		h := startHub(t, nil)
		h.startWorker(mirror, func(far *worker.Worker) {
			w.Bus, w.drop = far.Bus, func(e *bus.Envelope) bool {
				return e.Type == protocol.TypePiece && pieces.Add(1) == 4 || e.Type == protocol.TypeReport && reports.Add(1) > 4
			}
			far.Bus = &w
		})
		pixels := image(3 << 20)
		id := h.send(returnImmediately(show("first", pixels))).Head.ID
		synctest.Wait()
		if n := pieces.Load(); n != 4 {
			t.Fatalf("%d pieces, want the fourth one to be lost", n)
		}
		h.restart()
		synctest.Wait()
		time.Sleep(10 * time.Second) // the worker has asked again, and cannot report all
		synctest.Wait()
		if n := reports.Load(); n < 5 {
			t.Fatalf("%d reports, want more than arrive", n)
		}
		h.restart()
		reports.Store(-1 << 30)
		h.wait(id, task.InputRequired)
		h.shown(id, pixels)
	})
}

// TestLargeNATS sends an image there and back over a real broker, and restarts the hub
// meanwhile.
func TestLargeNATS(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, natstest.Debian(t))
	var mu sync.Mutex
	var open []bus.Bus
	t.Cleanup(func() {
		for _, b := range open {
			b.Close()
		}
	})
	h := &hub{t: t, store: new(memstore.Store)}
	h.peer = func() bus.Bus {
		b, err := natsbus.Open(t.Context(), natsbus.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		open = append(open, b)
		return b
	}
	h.start()
	t.Cleanup(func() { h.stop() })
	half := make(chan struct{})
	var pieces atomic.Int64
	h.startWorker(mirror, func(w *worker.Worker) {
		w.Bus = &wire{Bus: w.Bus, drop: func(e *bus.Envelope) bool {
			if e.Type == protocol.TypePiece && pieces.Add(1) == 3 {
				close(half)
			}
			return false
		}}
	})
	pixels := image(3 << 19)
	began := time.Now()
	id := h.send(returnImmediately(show("first", pixels))).Head.ID
	<-half
	h.restart()
	h.wait(id, task.InputRequired)
	h.shown(id, pixels)
	t.Logf("there and back, with a restart, took %v", time.Since(began))
	began = time.Now()
	more := show("second", pixels[:1<<20])
	more.Message.TaskID = id
	if got := describe(h.send(more)); got != "TASK_STATE_INPUT_REQUIRED next?" {
		t.Errorf("the second message makes it %s", got)
	}
	t.Logf("there and back, with the task so far, took %v", time.Since(began))
}

// TestLargeIsBounded wants data that is too large to fail with that reason.
func TestLargeIsBounded(t *testing.T) {
	t.Parallel()
	h := startHub(t, nil)
	h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart(strings.Repeat("x", protocol.MaxLarge))), nil)
	}), nil)
	if got := describe(h.send(newSend("hi"))); !strings.HasPrefix(got, "TASK_STATE_FAILED the agent has sent 671") || !strings.Contains(got, "67108864 are allowed") {
		t.Errorf("an event that is too large: %s", got)
	}
	got := describe(h.send(show("big", make([]byte, protocol.MaxLarge))))
	if !strings.HasPrefix(got, "TASK_STATE_FAILED the message, with its task, has 89") || !strings.Contains(got, `67108864 are allowed at the bus of agent "far"`) {
		t.Errorf("a message that is too large: %s", got)
	}
}

// served is a bus of a hub that counts the bytes of all blobs that the hub serves at one time.
type served struct {
	bus.Bus
	mu   sync.Mutex       // guards the fields below
	size map[string]int64 // of the blobs of work
	open map[string]bool
	most int64
}

func (s *served) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	var w protocol.Work
	var p protocol.Piece
	switch {
	case e.Type == protocol.TypeWork && json.Unmarshal(e.Body, &w) == nil && w.Large != nil:
		s.mu.Lock()
		s.size[w.Large.ID] = w.Large.Size
		s.mu.Unlock()
	case e.Type == protocol.TypePiece && json.Unmarshal(e.Body, &p) == nil:
		s.count(&p)
	}
	return s.Bus.Publish(ctx, to, e)
}

func (s *served) count(p *protocol.Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[p.Blob] = true
	var sum int64
	for blob := range s.open {
		sum += s.size[blob]
	}
	s.most = max(s.most, sum)
	if p.Offset+int64(len(p.Data)) == s.size[p.Blob] {
		delete(s.open, p.Blob)
	}
}

// slow is a bus of a worker that fetches slowly, so that several fetches overlap.
type slow struct{ bus.Bus }

// Publish runs in a synctest bubble.
func (s *slow) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if e.Type == protocol.TypeFetch {
		time.Sleep(100 * time.Millisecond)
	}
	return s.Bus.Publish(ctx, to, e)
}

// TestRoomForLarge has many large tasks and little memory: together they never use more.
func TestRoomForLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const room = 3 << 20 // for two of five
		s := &served{size: map[string]int64{}, open: map[string]bool{}}
		h := startHub(t, func(d *queue.Dispatcher) { s.Bus, d.Bus, d.Large = d.Bus, s, room })
		h.startWorker(mirror, func(w *worker.Worker) { w.Bus = &slow{w.Bus} })
		pixels := image(1 << 20)
		var ids []a2a.TaskID
		for i := range 5 {
			ids = append(ids, h.send(returnImmediately(show(fmt.Sprint(i), pixels))).Head.ID)
		}
		for _, id := range ids {
			h.wait(id, task.InputRequired)
			h.shown(id, pixels)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.most > room || s.most < room/3 {
			t.Errorf("the hub serves %d bytes at one time, want as much of %d as is needed, and not more", s.most, room)
		}
	})
}

// forging changes the pieces that a worker fetches.
type forging struct {
	bus.Bus
	left atomic.Int64
}

func (f *forging) Publish(ctx context.Context, to bus.Address, e *bus.Envelope) error {
	if e.Type == protocol.TypePiece && f.left.Add(-1) >= 0 {
		var p protocol.Piece
		if err := json.Unmarshal(e.Body, &p); err != nil {
			return err
		}
		p.Data[0] ^= 1
		copied := *e
		copied.Body, _ = protocol.Encode(&p)
		e = &copied
	}
	return f.Bus.Publish(ctx, to, e)
}

// TestForgedContent wants content with another hash to be fetched anew, and never used.
func TestForgedContent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		times int64
		want  string
	}{
		"once":   {1, "TASK_STATE_INPUT_REQUIRED next?"},
		"always": {1 << 40, "TASK_STATE_FAILED the message changed in transit: its content does not match its SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, func(d *queue.Dispatcher) {
				f := &forging{Bus: d.Bus}
				f.left.Store(tt.times)
				d.Bus = f
			})
			h.startWorker(mirror, nil)
			if got := describe(h.send(show("first", image(1<<20)))); got != tt.want {
				t.Errorf("the task is %s, want %s", got, tt.want)
			}
		})
	}
}

// fetch requests a piece.
func (j *manualJob) fetch(blob string, offset int64) {
	j.t.Helper()
	j.send(bus.Topic(j.d.ReplyTo), protocol.TypeFetch, 0, &protocol.Fetch{Token: j.token, Worker: j.id, Blob: blob, Offset: offset})
}

// TestFetchNeedsTheToken sends requests that the hub must not answer.
func TestFetchNeedsTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		p := h.startManualWorker()
		h.send(returnImmediately(show("first", image(1<<20))))
		j := p.take()
		j.fetch(j.work.Large.ID, 0)
		p.receives(protocol.TypeDeny, 0)
		j.granted(false)
		for _, offset := range []int64{-1, j.work.Large.Size, 1 << 62} {
			j.fetch(j.work.Large.ID, offset)
			p.silence()
		}
		j.fetch(j.work.Large.ID, j.work.Large.Size-1)
		var piece protocol.Piece
		if e := p.receives(protocol.TypePiece, 0); json.Unmarshal(e.Body, &piece) != nil || string(piece.Data) != "}" {
			t.Errorf("the last piece is %q", piece.Data)
		}
		token := j.token
		j.token = "guessed"
		j.fetch(j.work.Large.ID, 0)
		p.silence()
		j.token = token
		j.fetch("another one", 0)
		p.receives(protocol.TypeDeny, 0)
		again := p.take()
		if again.work.Delivery != 2 || again.work.Large == nil {
			t.Errorf("after content that has changed the work is %+v", again.work)
		}
	})
}

// piece reports a piece of an event.
func (j *manualJob) piece(seq int64, of *protocol.Blob, offset int64, data []byte) {
	j.t.Helper()
	j.send(bus.Queue(j.work.Reports), protocol.TypeReport, seq, &protocol.Report{
		Token: j.token, Worker: j.id, Large: of, Piece: &protocol.Piece{Blob: of.ID, Offset: offset, Data: data},
	})
}

// TestPiecesThatDoNotFit wants invalid pieces to end the task, and their memory to be released.
func TestPiecesThatDoNotFit(t *testing.T) {
	t.Parallel()
	event := []byte(word(strings.Repeat("x", 100)))
	good := protocol.BlobOf(event)
	like := func(alter func(*protocol.Blob)) *protocol.Blob {
		b := *good
		alter(&b)
		return &b
	}
	for name, tt := range map[string]struct {
		of      *protocol.Blob
		publish func(j *manualJob, of *protocol.Blob)
		want    string
	}{
		"another hash": {like(func(b *protocol.Blob) { b.SHA256 = make([]byte, 32) }), nil, "its SHA-256 does not match"},
		"no hash":      {like(func(b *protocol.Blob) { b.SHA256 = nil }), nil, "without a SHA-256"},
		"no id":        {like(func(b *protocol.Blob) { b.ID = "" }), nil, "without an id"},
		"long id":      {like(func(b *protocol.Blob) { b.ID = strings.Repeat("x", 65) }), nil, "without an id of up to 64 bytes"},
		"vast":         {like(func(b *protocol.Blob) { b.Size = 1 << 62 }), nil, "4611686018427387904 bytes: 1 to 67108864 are allowed"},
		"negative":     {like(func(b *protocol.Blob) { b.Size = -1 }), nil, "-1 bytes: 1 to 67108864"},
		"too much":     {like(func(b *protocol.Blob) { b.Size = 5 }), nil, "does not follow the 0 bytes of 5"},
		"empty":        {good, func(j *manualJob, of *protocol.Blob) { j.piece(1, of, 0, nil) }, "a piece of 0 bytes"},
		"a hole":       {good, func(j *manualJob, of *protocol.Blob) { j.piece(1, of, 0, event[:9]); j.piece(2, of, 10, event[10:]) }, "at 10 does not follow the 9 bytes"},
		"two events": {good, func(j *manualJob, of *protocol.Blob) {
			j.piece(1, of, 0, event[:9])
			j.piece(2, protocol.BlobOf(event[1:]), 9, event[9:])
		}, "does not follow"},
		"no JSON": {protocol.BlobOf([]byte("{")), func(j *manualJob, of *protocol.Blob) { j.piece(1, of, 0, []byte("{")) }, "it is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				p := h.startManualWorker()
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j := p.take().granted(false)
				if tt.publish == nil {
					j.piece(1, tt.of, 0, event)
				} else {
					tt.publish(j, tt.of)
				}
				synctest.Wait()
				if got := describe(h.get(id)); !strings.HasPrefix(got, "TASK_STATE_FAILED worker ") || !strings.Contains(got, tt.want) {
					t.Errorf("the task is %.300s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestPieces checks the hub's answers to a sequence of pieces.
func TestPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		event := []byte(word(strings.Repeat("x", 100)))
		of := protocol.BlobOf(event)
		h := startHub(t, nil)
		p := h.startManualWorker()
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		j.report(1, word("a"))
		p.receives(protocol.TypeConfirm, 1)
		j.piece(2, of, 0, event[:50])
		p.receives(protocol.TypeConfirm, 1) // received, but not durable
		j.piece(4, of, 60, event[60:])
		p.requested(3)
		j.piece(5, of, 70, event[70:])
		p.silence() // it was requested already
		j.piece(2, of, 0, event[:50])
		p.receives(protocol.TypeConfirm, 1)
		h.restart()
		p.requested(2)
		j.piece(2, of, 0, event[:50])
		p.receives(protocol.TypeConfirm, 1)
		j.piece(3, of, 50, event[50:])
		p.receives(protocol.TypeConfirm, 3)
		j.piece(4, of, 0, event[:50]) // and then it reports another event
		p.receives(protocol.TypeConfirm, 3)
		j.report(5, completed)
		p.receives(protocol.TypeConfirm, 5)
		if got := h.chunks(id); len(got) != 2 || got[1] != strings.Repeat("x", 100) {
			t.Errorf("chunks %q", got)
		}
	})
}

// TestHostileWork wants a worker not to start work whose declared size exceeds the limit.
func TestHostileWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		h.startWorker(mirror, nil)
		synctest.Wait()
		body, err := protocol.Encode(&protocol.Work{Agent: "far", Delivery: 1, Reports: "hub.report.h", Large: &protocol.Blob{ID: "x", Size: 1 << 40, SHA256: make([]byte, 32)}})
		if err != nil {
			t.Fatal(err)
		}
		b := h.bus.Peer()
		e := &bus.Envelope{ID: uuid.NewString(), Type: protocol.TypeWork, Source: "hub/h", ReplyTo: "hub.control.h", Task: "t", Body: body}
		if err := b.Publish(t.Context(), protocol.JobAt("far"), e); err != nil {
			t.Fatal(err)
		}
		for d, err := range b.Receive(t.Context(), bus.Subscription{At: bus.Dead}) {
			if err != nil {
				t.Fatal(err)
			}
			if want := "1099511627776 bytes: 1 to 67108864 are allowed"; !strings.Contains(d.Reason, want) {
				t.Errorf("it is dead because %q, want %s", d.Reason, want)
			}
			break
		}
	})
}
