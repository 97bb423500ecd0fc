package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// recorded returns the records of the run's task as one text.
func recorded(ctx context.Context) string {
	var all []string
	for rec, err := range agent.CallFrom(ctx).Journal(ctx) {
		if err != nil {
			return err.Error()
		}
		all = append(all, string(rec))
	}
	return strings.Join(all, " ")
}

// journalOf returns the journal of a task from a store.
func journalOf(t *testing.T, s task.Journals, key task.Key) string {
	t.Helper()
	page, err := s.Journal(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, r := range page {
		if r.Number != int64(i+1) {
			t.Errorf("record %d has number %d", i+1, r.Number)
		}
		all = append(all, string(r.Data))
	}
	return strings.Join(all, " ")
}

// TestJournalContinues interrupts a run twice, which adds a record each time. Finally its caller
// answers a question.
func TestJournalContinues(t *testing.T) {
	t.Parallel()
	store, began, received := new(memstore.Store), make(chan context.Context, 1), make(chan string, 4)
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		received <- recorded(ctx)
		_ = agent.CallFrom(ctx).Record(ctx, fmt.Append(nil, ec.Message.Parts[0].Text(), "-", c.Attempt))
		if c.Attempt < 3 && strings.HasSuffix(c.Key, "/1") {
			_ = agent.CallFrom(ctx).Flush(ctx)
			began <- ctx
			<-ctx.Done()
			return
		}
		state := a2a.TaskStateInputRequired
		if !strings.HasSuffix(c.Key, "/1") {
			state = a2a.TaskStateCompleted
		}
		yield(status(ec, state, ""), nil)
	}}
	b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(x))
	h := b.send(now(text("a"))).Head
	for _, want := range []string{"", "a-1"} {
		<-began
		if got := <-received; got != want {
			t.Errorf("the execution finds the records %q, want %q", got, want)
		}
		b.stop()
		b = start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(x))
	}
	b.wait(h.ID, task.InputRequired)
	b.send(reply(h.ID, "b"))
	for _, want := range []string{"a-1 a-2", "a-1 a-2 a-3"} {
		if got := <-received; got != want {
			t.Errorf("the execution finds the records %q, want %q", got, want)
		}
	}
	if got := journalOf(t, store, h.Key); got != "a-1 a-2 a-3" {
		t.Errorf("a task that has ended has the records %q", got)
	}
}

// TestRecordIsAsDurableAsItsEvent keeps the queue of a run from being written, as
// TestCheckpointIsAsDurableAsItsEvent does.
func TestRecordIsAsDurableAsItsEvent(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	steps, next := make(chan string), make(chan struct{})
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		step := func(name string) { steps <- name; <-next }
		yield(chunk(ec, "a", true), nil)
		_ = agent.CallFrom(ctx).Record(ctx, []byte("b"))
		_ = agent.CallFrom(ctx).Record(ctx, []byte("c"))
		step("c is recorded")
		yield(chunk(ec, "b", true), nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("b is stored")
		_ = agent.CallFrom(ctx).Record(ctx, []byte("d"))
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("d is flushed")
		_ = agent.CallFrom(ctx).Record(ctx, []byte("e"))
		yield(&a2a.Task{ID: ec.TaskID, ContextID: ec.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}, nil)
		_ = agent.CallFrom(ctx).Flush(ctx)
		step("e changes nothing")
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{Store: store}, resumable(x))
	h := b.send(now(text("hi"))).Head
	for _, want := range []struct{ step, records string }{
		{"c is recorded", ""}, {"b is stored", "b c"}, {"d is flushed", "b c d"}, {"e changes nothing", "b c d e"},
	} {
		if got := <-steps; got != want.step {
			t.Fatalf("step %q, want %q", got, want.step)
		}
		if got := journalOf(t, store, h.Key); got != want.records {
			t.Errorf("when %s, the journal is %q, want %q", want.step, got, want.records)
		}
		next <- struct{}{}
	}
	b.wait(h.ID, task.Completed)
}

// TestRecordAloneIsStoredSoon: no event follows the records, and Flush is not called.
func TestRecordAloneIsStoredSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := new(counting)
		x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			for _, rec := range []string{"one", "two"} {
				_ = agent.CallFrom(ctx).Record(ctx, []byte(rec))
				yield(&a2a.Task{ID: ec.TaskID, Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}, nil)
			}
			<-ctx.Done()
		}}
		b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, resumable(x))
		h := b.send(now(text("hi"))).Head
		time.Sleep(time.Second)
		synctest.Wait()
		if got := journalOf(t, store, h.Key); got != "one two" {
			t.Errorf("the journal is %q, want one two", got)
		}
		if got := store.appends.Load(); got != 2 {
			t.Errorf("%d appends, want one for the task and one for the records", got)
		}
		b.stop()
	})
}

// TestJournalIsBounded fills a journal.
func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		large := make([]byte, execution.MaxRecord)
		var texts []string
		for range execution.MaxJournal / execution.MaxRecord {
			texts = append(texts, fmt.Sprint(agent.CallFrom(ctx).Record(ctx, large)))
		}
		full := agent.CallFrom(ctx).Record(ctx, []byte("x"))
		texts = append(texts, fmt.Sprint(errors.Is(full, agent.ErrJournal), agent.CallFrom(ctx).Record(ctx, nil) != nil))
		texts = append(texts, fmt.Sprint(errors.Is(agent.CallFrom(ctx).Record(ctx, append(large, 0)), agent.ErrJournal)))
		yield(status(ec, a2a.TaskStateCompleted, strings.Join(texts, " ")), nil)
	}}
	b := start(t, engine.Config{}, resumable(x))
	if got, want := statusText(t, b.send(text("hi"))), "<nil> <nil> <nil> <nil> true true true"; got != want {
		t.Errorf("records are taken with %q, want %q", got, want)
	}
}

// TestJournalOfOthersIsNone: only agents that resume have journals.
func TestJournalOfOthersIsNone(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = agent.CallFrom(ctx).Record(ctx, []byte("x"))
		yield(status(ec, a2a.TaskStateInputRequired, recorded(ctx)), nil)
	}}
	b := start(t, engine.Config{Store: store}, x)
	h := b.send(text("hi")).Head
	if got := journalOf(t, store, h.Key); got != "" {
		t.Errorf("the journal is %q, want none", got)
	}
}

// TestRedriveForgetsTheJournal dispatches a message again, which starts from the beginning.
func TestRedriveForgetsTheJournal(t *testing.T) {
	t.Parallel()
	store, began, received := new(memstore.Store), make(chan context.Context, 1), make(chan string, 2)
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		had := recorded(ctx)
		received <- had
		_ = agent.CallFrom(ctx).Record(ctx, []byte("x"))
		_ = agent.CallFrom(ctx).Flush(ctx)
		if len(received) == 1 {
			began <- ctx
			<-ctx.Done()
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{Store: store}, resumable(x))
	h := b.send(now(text("hi"))).Head
	<-began
	if _, err := b.Redrive(t.Context(), engine.Target{Owner: "alice", ID: h.ID}); err != nil {
		t.Fatal(err)
	}
	b.wait(h.ID, task.Completed)
	for range 2 {
		if got := <-received; got != "" {
			t.Errorf("the execution finds the records %q, want none", got)
		}
	}
	if got := journalOf(t, store, h.Key); got != "x" {
		t.Errorf("the journal is %q, want that of the second run", got)
	}
}
