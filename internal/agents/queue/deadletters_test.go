package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/suite/deadlettertest"
)

func TestMemLetters(t *testing.T) {
	t.Parallel()
	deadlettertest.Test(t, func(*testing.T) queue.LetterStore { return new(queue.MemLetters) })
}

// undelivered records the undelivered work.
type undelivered struct {
	mu   sync.Mutex // guards the fields below
	ids  []string
	fail int // the number of calls that fail
}

func (u *undelivered) record(_ context.Context, e *bus.Envelope) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fail > 0 {
		u.fail--
		return errors.New("the store sleeps")
	}
	u.ids = append(u.ids, e.Task+": "+e.Reason)
	return nil
}

// list returns the recorded work.
func (u *undelivered) list() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.ids)
}

func signer(t *testing.T, hub string) *bus.Signer {
	t.Helper()
	s, err := bus.NewSigner(hub, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs collectors until the test ends.
func run(t *testing.T, collectors ...*queue.DeadLetters) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	cancel := func() { stop(errors.New("interrupted")) }
	var wg sync.WaitGroup
	for _, d := range collectors {
		wg.Go(func() {
			if err := d.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func work(hub, task string) *bus.Envelope {
	return &bus.Envelope{
		ID: "e-" + task, Type: protocol.TypeWork, Source: "hub/" + hub, Task: task, Owner: "ann", Body: json.RawMessage(`{"agent":"a"}`),
	}
}

// deadLetter publishes e at a queue, and moves it to Dead.
func deadLetter(t *testing.T, b bus.Bus, at bus.Address, e *bus.Envelope) {
	t.Helper()
	if err := b.Publish(t.Context(), at, e); err != nil {
		t.Fatal(err)
	}
	got := receive(t, b, at)
	if err := got.DeadLetter(t.Context(), "no good"); err != nil {
		t.Fatal(err)
	}
}

// receive returns one envelope of a queue. The envelope stays unsettled, because the loop
// continues until the test ends.
func receive(t *testing.T, b bus.Bus, at bus.Address) *bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got, done := make(chan *bus.Delivery), make(chan struct{})
	go func() {
		defer close(done)
		for d, err := range b.Receive(ctx, bus.Subscription{At: at}) {
			if err != nil {
				t.Errorf("Receive(%s) = %v", at, err)
				return
			}
			select {
			case got <- d:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return <-got
}

func list(t *testing.T, d *queue.DeadLetters) []queue.Letter {
	t.Helper()
	all, err := d.Store.Letters(t.Context(), &queue.LetterQuery{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, u, s := new(bus.Memory), &undelivered{fail: 1}, signer(t, "h1")
		d := &queue.DeadLetters{Bus: b, Store: new(queue.MemLetters), Signer: s, Undelivered: u.record}
		stored := make(chan string, 2) // the letter is stored again when its envelope is redelivered
		d.Stored = func(l *queue.Letter) { stored <- l.Task + ": " + l.Reason }
		run(t, d)
		at := protocol.JobAt("a")
		e := work("h1", "t1")
		if err := s.Sign(e); err != nil {
			t.Fatal(err)
		}
		deadLetter(t, b, at, e)
		synctest.Wait()
		all := list(t, d)
		if len(all) != 1 || all[0].Queue != at.Name || all[0].Reason != "no good" || all[0].Task != "t1" || all[0].Owner != "ann" {
			t.Fatalf("letters %+v, want that of t1", all)
		}
		if got := <-stored; got != "t1: no good" {
			t.Errorf("the stored letter is %q", got)
		}
		if len(u.list()) != 0 {
			t.Errorf("Undelivered recorded %v although it failed", u.list())
		}
		time.Sleep(5 * time.Second) // it is redelivered
		synctest.Wait()
		if diff := cmp.Diff([]string{"t1: no good"}, u.list()); diff != "" || len(list(t, d)) != 1 {
			t.Errorf("undelivered work (-want +got):\n%s", diff)
		}
		replays(t, d, s, all[0].ID)
	})
}

// replays replays a letter: it is published with a new id, and signed.
func replays(t *testing.T, d *queue.DeadLetters, s *bus.Signer, id queue.LetterID) {
	t.Helper()
	if _, err := d.Replay(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	got := receive(t, d.Bus, protocol.JobAt("a"))
	ring, err := bus.NewKeyring(s.HubKey())
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == "e-t1" || got.Reason != "" || got.Queue != "" || ring.Verify(got.Envelope) != nil {
		t.Errorf("replayed %+v: %v", got.Envelope, ring.Verify(got.Envelope))
	}
	if _, err := d.Replay(t.Context(), id); !errors.Is(err, queue.ErrNoLetter) {
		t.Errorf("a letter was replayed twice: %v", err)
	}
	if err := d.Drop(t.Context(), id); !errors.Is(err, queue.ErrNoLetter) {
		t.Errorf("a letter that is gone was dropped: %v", err)
	}
}

// TestDeadLettersOfTwoHubs: an envelope of a hub reaches that hub, whichever collector receives it.
func TestDeadLettersOfTwoHubs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		var collectors []*queue.DeadLetters
		var undeliveredOf []*undelivered
		signers := make(map[string]*bus.Signer)
		for _, hub := range []string{"h1", "h2"} {
			u := new(undelivered)
			undeliveredOf, signers[hub] = append(undeliveredOf, u), signer(t, hub)
			collectors = append(collectors, &queue.DeadLetters{Bus: b.Peer(), Store: new(queue.MemLetters), Signer: signers[hub], Undelivered: u.record})
		}
		run(t, collectors...)
		for i := range 10 {
			e := work("h2", fmt.Sprint("t", i))
			if err := signers["h2"].Sign(e); err != nil {
				t.Fatal(err)
			}
			deadLetter(t, b, bus.Queue(fmt.Sprint("q", i)), e)
		}
		deadLetter(t, b, protocol.ReportAt("h2"), &bus.Envelope{ID: "r", Type: protocol.TypeReport, Source: "worker/w"})
		synctest.Wait()
		if got := len(list(t, collectors[0])); got != 0 || len(undeliveredOf[0].list()) != 0 {
			t.Errorf("the first hub has %d letters and undelivered work %v, want nothing", got, undeliveredOf[0].list())
		}
		if got := len(list(t, collectors[1])); got != 11 || len(undeliveredOf[1].list()) != 10 {
			t.Errorf("the second hub has %d letters and undelivered work %v, want 11 and 10", got, undeliveredOf[1].list())
		}
	})
}

// TestForgedLetter: an envelope that only claims to be work of the hub ends no task, and the
// hub does not sign it.
func TestForgedLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, u, s := new(bus.Memory), new(undelivered), signer(t, "h1")
		d := &queue.DeadLetters{Bus: b, Store: new(queue.MemLetters), Signer: s, Undelivered: u.record}
		run(t, d)
		unsigned, changed := work("h1", "t1"), work("h1", "t2")
		if err := s.Sign(changed); err != nil {
			t.Fatal(err)
		}
		changed.Task = "t3"
		for _, e := range []*bus.Envelope{unsigned, changed} {
			deadLetter(t, b, protocol.JobAt("a"), e)
		}
		synctest.Wait()
		all := list(t, d)
		if len(all) != 2 || len(u.list()) > 0 {
			t.Errorf("%d letters, want 2; undelivered work %v, want none", len(all), u.list())
		}
		for _, l := range all {
			if _, err := d.Replay(t.Context(), l.ID); !errors.Is(err, queue.ErrForged) {
				t.Errorf("Replay of a forged letter = %v", err)
			}
		}
		if got := len(list(t, d)); got != 2 {
			t.Errorf("%d letters are left", got)
		}
	})
}

// TestDeadLettersAreBounded dead-letters more than the store may keep, and waits until it is too old.
func TestDeadLettersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		d := &queue.DeadLetters{Bus: b, Store: new(queue.MemLetters), MaxLetters: 3, MaxAge: 24 * time.Hour}
		run(t, d)
		for i := range 5 {
			deadLetter(t, b, bus.Queue(fmt.Sprint("q", i)), work("h", fmt.Sprint("t", i)))
			synctest.Wait()
		}
		if all := list(t, d); len(all) != 3 || all[2].Task != "t2" {
			t.Errorf("%d letters are kept, the oldest of %v; want 3", len(all), all)
		}
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if all := list(t, d); len(all) != 0 {
			t.Errorf("%d letters are kept for longer than a day", len(all))
		}
	})
}

// TestCannotBeReplayed: bytes that are no envelope, and an envelope without a former queue.
func TestCannotBeReplayed(t *testing.T) {
	t.Parallel()
	store := new(queue.MemLetters)
	d := &queue.DeadLetters{Bus: new(bus.Memory), Store: store}
	for id, want := range map[queue.LetterID]error{"bytes": queue.ErrUnreadable, "broken": queue.ErrUnreadable, "nowhere": queue.ErrNoQueue} {
		e := &bus.Envelope{ID: "e", Type: protocol.TypeWork, Source: "hub/h"}
		if id == "bytes" {
			e = bus.ReadDead([]byte("{"))
		}
		l, err := queue.LetterOf(e, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		l.ID = id
		if id == "broken" {
			l.Envelope = json.RawMessage("{")
		}
		if err := store.PutLetter(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Replay(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("Replay(%s) = %v, want %v", id, err, want)
		}
		if _, err := store.Letter(t.Context(), id); err != nil {
			t.Errorf("letter %s is gone: %v", id, err)
		}
	}
}

func TestDeadLettersOnAClosedBus(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (&queue.DeadLetters{Bus: b, Store: new(queue.MemLetters)}).Run(t.Context()); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Run = %v, want ErrClosed", err)
	}
}
