package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a recorder over s until the test, or the returned stop, ends it.
func start(t *testing.T, s task.Store) (r *events.Recorder, stop func()) {
	t.Helper()
	r = &events.Recorder{Store: s, Version: "test"}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return r, stop
}

// watch yields the events of q one by one.
func watch(t *testing.T, r *events.Recorder, q events.Query) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for batch, err := range r.Watch(t.Context(), q) {
			if err != nil {
				yield(events.Event{}, err)
				return
			}
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// read returns the events of q up to now, without the final one.
func read(t *testing.T, r *events.Recorder, q events.Query) (all []events.Event) {
	t.Helper()
	q.Once = true
	for e, err := range watch(t, r, q) {
		if err != nil {
			t.Fatalf("Watch = %v", err)
		}
		if e.Type != "" && e.Type != events.StreamEnd {
			all = append(all, e)
		}
	}
	return all
}

// brief describes an event by its type, task and state.
func brief(all []events.Event) (texts []string) {
	for i := range all {
		e := &all[i]
		texts = append(texts, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Task, " ", cmpOr(e.Data["state"], e.Data["n"]))))
	}
	return texts
}

func cmpOr(a, b any) any {
	switch {
	case a != nil:
		return a
	case b != nil:
		return b
	}
	return ""
}

func wantBrief(t *testing.T, got []events.Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Errorf("events mismatch (-want +got):\n%s", diff)
	}
}

func note(r *events.Recorder, n int) {
	r.Note(events.Event{Type: events.AgentHealth, Agent: "a", Data: map[string]any{"n": fmt.Sprint(n)}})
}

// lifeOf makes a task with four entries in two changes.
func lifeOf(t *testing.T, s task.Store, owner task.Owner, id a2a.TaskID) task.Head {
	t.Helper()
	h := tasktest.Append(t, s, tasktest.NewHead(owner, id), tasktest.Created(tasktest.At(0), "hello"))
	return tasktest.Append(t, s, h, tasktest.Status(tasktest.At(1), task.Working, ""),
		tasktest.Chunk(tasktest.At(2), "a", "x"), tasktest.Status(tasktest.At(3), task.InputRequired, "which?"))
}

func TestEventsOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		synctest.Wait()
		lifeOf(t, s, "anna", "t1")
		got := read(t, r, events.Query{After: events.First, Filter: events.Filter{Types: []string{"task"}}})
		wantBrief(t, got, "task.created t1 TASK_STATE_SUBMITTED", "task.status t1 TASK_STATE_WORKING", "task.artifact t1", "task.status t1 TASK_STATE_INPUT_REQUIRED")
		b, err := json.Marshal(&got[3])
		if err != nil {
			t.Fatal(err)
		}
		want := `{"id":"` + got[3].ID + `","type":"task.status","time":"2026-03-12T09:05:00.003Z","owner":"anna","agent":"echo","task":"t1","context":"c",` +
			`"data":{"question":true,"state":"TASK_STATE_INPUT_REQUIRED","text":"which?","version":4}}`
		if string(b) != want {
			t.Errorf("event = %s\nwant    %s", b, want)
		}
	})
}

// TestResume continues after each event, also between the entries of one change.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		synctest.Wait()
		lifeOf(t, s, "anna", "t1")
		note(r, 1)
		synctest.Wait()
		lifeOf(t, s, "bert", "t2")
		all := read(t, r, events.Query{After: events.First})
		if len(all) != 10 {
			t.Fatalf("%d events, want 10: %v", len(all), brief(all))
		}
		for i := range all {
			rest := read(t, r, events.Query{After: all[i].ID})
			if diff := cmp.Diff(all[i+1:], rest, cmp.Comparer(func(a, b []events.Event) bool { return slices.EqualFunc(a, b, sameEvent) })); diff != "" {
				t.Errorf("after event %d (%s): mismatch (-want +got):\n%s", i, all[i].ID, diff)
			}
		}
	})
}

func sameEvent(a, b events.Event) bool { return a.ID == b.ID && a.Type == b.Type && a.Task == b.Task }

func TestFilters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		synctest.Wait()
		lifeOf(t, s, "anna", "t1")
		lifeOf(t, s, "bert", "t2")
		r.Note(events.Event{Type: events.WorkerClaimed, Owner: "bert", Task: "t2", Agent: "echo"})
		r.Note(events.Event{Type: events.Audit + "key.add"})
		synctest.Wait()
		for name, tt := range map[string]struct {
			f    events.Filter
			want int
		}{
			"all":               {events.Filter{}, 11},
			"owner":             {events.Filter{Owner: "bert"}, 5},
			"agent":             {events.Filter{Agent: "echo"}, 9},
			"another agent":     {events.Filter{Agent: "ech"}, 0},
			"task":              {events.Filter{Task: "t1"}, 4},
			"context":           {events.Filter{Context: "c"}, 8},
			"another context":   {events.Filter{Context: "d"}, 0},
			"family":            {events.Filter{Types: []string{"task"}}, 8},
			"prefix is no kind": {events.Filter{Types: []string{"tas"}}, 0},
			"types":             {events.Filter{Types: []string{"task.created", "worker"}}, 3},
			"type of the audit": {events.Filter{Types: []string{"audit.key.add"}}, 1},
			"owner and type":    {events.Filter{Owner: "anna", Types: []string{"task.status"}}, 2},
		} {
			if got := read(t, r, events.Query{After: events.First, Filter: tt.f}); len(got) != tt.want {
				t.Errorf("%s: %d events, want %d: %v", name, len(got), tt.want, brief(got))
			}
		}
	})
}

// TestFollow checks that a reader is woken by changes and notices, gets each once, and ends
// when the hub stops.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		watched := r.Watched(s)
		synctest.Wait()
		var got []events.Event
		var reader sync.WaitGroup
		reader.Go(func() {
			for e, err := range watch(t, r, events.Query{}) {
				if err != nil {
					t.Errorf("Watch = %v", err)
				} else if e.Type != "" {
					got = append(got, e)
				}
			}
		})
		synctest.Wait()
		for i := range 3 {
			lifeOf(t, watched, "anna", a2a.TaskID(fmt.Sprint("t", i)))
			time.Sleep(time.Second) // the reader rests between two looks
			synctest.Wait()
			if want := 5*i + 4; len(got) != want {
				t.Fatalf("the reader has %d events, want %d", len(got), want)
			}
			note(r, i)
			time.Sleep(time.Second)
			synctest.Wait()
			if want := 5*i + 5; len(got) != want {
				t.Fatalf("the reader has %d events, want %d", len(got), want)
			}
		}
		r.EndReaders()
		reader.Wait()
		if last := got[len(got)-1]; last.Type != events.StreamEnd || last.Data["reason"] != "the hub stops" {
			t.Errorf("the last event is %+v, want the end of the stream", last)
		}
	})
}

// TestPosition checks that a reader whose filter selects nothing still moves on.
func TestPosition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		synctest.Wait()
		lifeOf(t, s, "anna", "t1")
		var last events.Event
		for e, err := range watch(t, r, events.Query{After: events.First, Once: true, Filter: events.Filter{Owner: "nemo"}}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == "" {
				last = e
			}
		}
		if last.ID == "" || len(read(t, r, events.Query{After: last.ID})) != 0 {
			t.Errorf("the last position is %q, want that of the newest event", last.ID)
		}
	})
}

// gaps returns the reasons of the gaps among events.
func gaps(all []events.Event) (reasons []string) {
	for i := range all {
		if all[i].Type == events.Gap {
			reasons = append(reasons, fmt.Sprint(all[i].Data["reason"]))
		}
	}
	return reasons
}

func wantGap(t *testing.T, all []events.Event, text string) {
	t.Helper()
	if got := gaps(all); len(got) != 1 || !strings.Contains(got[0], text) {
		t.Errorf("gaps are %q, want one with %q", got, text)
	}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	t.Run("dropped", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := new(memstore.Store)
			r, _ := start(t, s)
			synctest.Wait()
			first := read(t, r, events.Query{After: events.First})
			for range 9000 {
				add(t, s, "x")
			}
			all := read(t, r, events.Query{After: first[0].ID})
			wantGap(t, all[:1], "dropped")
			if f, l := all[0].Data["first"], all[0].Data["last"]; fmt.Sprint(f, " ", l) != "2 809" {
				t.Errorf("the gap is from %v to %v, want 2 to 809", f, l)
			}
			if len(all) != 1+8192 {
				t.Errorf("%d events follow, want 8192", len(all)-1)
			}
		})
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := new(memstore.Store)
			r, _ := start(t, s)
			synctest.Wait()
			h := lifeOf(t, s, "anna", "t1")
			tasktest.Append(t, s, h, tasktest.Status(tasktest.At(4), task.Failed, ""))
			if n, err := s.Sweep(t.Context(), tasktest.At(50), 9); n != 1 || err != nil {
				t.Fatalf("Sweep = %d, %v", n, err)
			}
			lifeOf(t, s, "anna", "t2")
			all := read(t, r, events.Query{After: events.First})
			wantGap(t, all, "deleted")
			if all[1].Type != events.Gap || fmt.Sprint(all[1].Data["changes"]) != "3" || len(all) != 6 {
				t.Errorf("events are %v with %v, want a gap of 3 changes after the first", brief(all), all[1].Data)
			}
		})
	})
	t.Run("another store", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			old, _ := start(t, new(memstore.Store))
			r, _ := start(t, new(memstore.Store))
			synctest.Wait()
			all := read(t, r, events.Query{After: read(t, old, events.Query{After: events.First})[0].ID})
			wantGap(t, all, "another data folder")
			if len(all) != 2 {
				t.Errorf("events are %v, want the gap and all of the store", brief(all))
			}
		})
	})
	t.Run("ahead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r, _ := start(t, new(memstore.Store))
			synctest.Wait()
			id := read(t, r, events.Query{After: events.First})[0].ID
			all := read(t, r, events.Query{After: strings.TrimSuffix(id, "1") + "7"})
			wantGap(t, all, "ahead")
			if len(all) != 2 {
				t.Errorf("events are %v, want the gap and all of the store", brief(all))
			}
		})
	})
}

// TestKilledHub checks that a hub that was killed leaves a gap, and one that was stopped none.
func TestKilledHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		_, stop := start(t, s)
		synctest.Wait()
		stop()
		r, _ := start(t, s)
		synctest.Wait()
		wantBrief(t, read(t, r, events.Query{After: events.First}), "hub.started", "hub.stopped", "hub.started")
		lifeOf(t, s, "anna", "t1") // the last moment of a killed hub
		r, _ = start(t, s)
		synctest.Wait()
		all := read(t, r, events.Query{After: events.First})
		wantGap(t, all, "did not stop cleanly")
		if last := brief(all[len(all)-2:]); !slices.Equal(last, []string{"gap", "hub.started"}) {
			t.Errorf("the last events are %v", last)
		}
	})
}

// failing is a store whose notices can be refused.
type failing struct {
	*memstore.Store
	mu  sync.Mutex
	err error
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) AddNotices(ctx context.Context, n [][]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return f.Store.AddNotices(ctx, n)
}

// TestStoreFails checks that notices wait for the store, up to a bound, and that the lost ones
// are counted in a gap.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &failing{Store: new(memstore.Store)}
		r, _ := start(t, s)
		synctest.Wait()
		s.set(errors.New("no"))
		for i := range 5000 {
			note(r, i)
		}
		synctest.Wait()
		s.set(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		all := read(t, r, events.Query{After: events.First})
		wantGap(t, all, "too many notices")
		if got := fmt.Sprint(all[len(all)-1].Data["lost"]); got != "904" || len(all) != 1+4096+1 {
			t.Errorf("%d events, the last counts %s lost, want 4098 and 904", len(all), got)
		}
		for i := range 4096 {
			if all[i+1].Data["n"] != fmt.Sprint(i) {
				t.Fatalf("event %d is %v", i, all[i+1])
			}
		}
	})
}

// TestSlowReader checks that a reader that is overtaken gets a gap and a clear end, and can
// continue from there.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(memstore.Store)
		r, _ := start(t, s)
		synctest.Wait()
		add(t, s, "a")
		var got []events.Event
		for e, err := range watch(t, r, events.Query{After: events.First}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e); len(got) == 1 {
				for range 9000 { // while the reader does not read
					add(t, s, "b")
				}
			}
		}
		n := len(got)
		if n < 3 || got[n-2].Type != events.Gap || got[n-1].Type != events.StreamEnd || !strings.Contains(fmt.Sprint(got[n-1].Data["reason"]), "too slow") {
			t.Fatalf("the last of %d events are %v", n, brief(got[max(n-3, 0):]))
		}
		rest := read(t, r, events.Query{After: got[n-1].ID})
		if len(rest) != 1+8192 || rest[0].Type != events.Gap {
			t.Errorf("%d events follow, want a gap and 8192", len(rest))
		}
	})
}

// add adds a notice directly.
func add(t *testing.T, s task.Timeline, text string) {
	t.Helper()
	b, err := json.Marshal(&events.Event{Type: events.AgentHealth, Data: map[string]any{"n": text}})
	if err == nil {
		err = s.AddNotices(t.Context(), [][]byte{b})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoticesAreBounded checks that notices with huge texts are stored shortened.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := start(t, new(memstore.Store))
		huge := strings.Repeat("ü", 100_000)
		many := make(map[string]any)
		for i := range 1000 {
			many[fmt.Sprint("k", i)] = "some text of a caller"
		}
		r.Note(events.Event{Type: events.InboxOpen, Owner: task.Owner(huge), Context: huge, Data: map[string]any{"text": huge}})
		r.Note(events.Event{Type: events.InboxOpen, Data: many})
		synctest.Wait()
		all := read(t, r, events.Query{After: events.First, Filter: events.Filter{Types: []string{"inbox"}}})
		if len(all) != 2 || all[1].Data["shortened"] != true {
			t.Fatalf("events are %v", brief(all))
		}
		if n := len([]rune(fmt.Sprint(all[0].Data["text"]))); n > 300 {
			t.Errorf("the text has %d characters", n)
		}
	})
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1", "-1", "x-", "x--1", "x-1-0", "x-1-2-3", "x-a", "last", "x-99999999999999999999"} {
		q := events.Query{After: text}
		if err := q.Check(); !errors.Is(err, events.ErrCursor) {
			t.Errorf("cursor %q: %v, want ErrCursor", text, err)
		}
	}
}

// TestNoteNeverRetains checks that the caller may change the event afterwards.
func TestNoteNeverRetains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := start(t, new(memstore.Store))
		synctest.Wait()
		data := map[string]any{"n": "1"}
		r.Note(events.Event{Type: events.AgentHealth, Data: data})
		data["n"] = string(bytes.Repeat([]byte("2"), 3))
		synctest.Wait()
		wantBrief(t, read(t, r, events.Query{After: events.First}), "hub.started", "agent.health  1")
	})
}
