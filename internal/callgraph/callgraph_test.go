package callgraph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/callgraph"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// counting counts the pages that are read of a store.
type counting struct {
	task.Store
	lists, sidecars atomic.Int32
}

// List implements task.Index.
func (c *counting) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	c.lists.Add(1)
	return c.Store.List(ctx, q)
}

// Sidecars implements task.Sidecars.
func (c *counting) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	c.sidecars.Add(1)
	return c.Store.Sidecars(ctx, q)
}

// world is a store whose tasks change now.
type world struct {
	t *testing.T
	counting
	n int
}

// call stores a task that ends in a state, on behalf of a parent if there is one, and returns it.
func (w *world) call(owner task.Owner, agent task.Agent, parent task.Key, state task.State, cost string) task.Head {
	w.t.Helper()
	w.n++
	h := task.Head{ID: a2a.TaskID(fmt.Sprint(agent, w.n)), Owner: owner, Agent: agent, ContextID: "c"}
	now := task.MillisOf(time.Now())
	c := tasktest.Step(w.t, h, tasktest.Created(now, "hello"))
	if parent != 0 {
		c.Sidecars[task.SidecarLineage] = (&task.Lineage{Parent: parent, Root: parent, Hops: 1}).Encode()
	}
	if err := w.Append(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	stored, err := w.Head(w.t.Context(), owner, h.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	if state == task.Submitted {
		return stored
	}
	e := tasktest.Status(now, state, "done")
	if cost != "" {
		e.Body = fmt.Appendf(nil, `{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"done"}],"metadata":{"application/vnd.protolabs.cost-v1+json":%s}}`, cost)
	}
	return tasktest.Append(w.t, w, stored, e)
}

// newWorld returns a store without tasks.
func newWorld(t *testing.T) *world {
	return &world{t: t, counting: counting{Store: new(memstore.Store)}}
}

// TestGraph counts the calls of callers and of agents, their failures and their cost.
func TestGraph(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.call("ann", "shop", 0, task.Completed, "") // too old
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		shop := w.call("ann", "shop", 0, task.Submitted, "")
		w.call("ann", "pay", shop.Key, task.Failed, `{"costUsd":0.5,"usage":{"input_tokens":10,"output_tokens":2}}`)
		again := w.call("ann", "pay", shop.Key, task.Completed, `{"costUsd":1,"usage":{"input_tokens":5,"output_tokens":1}}`)
		direct := w.call("bob", "pay", 0, task.Rejected, "")
		lost := w.call("bob", "pay", 1, task.Canceled, "") // its parent is outside the time
		got, err := callgraph.New(w).Last(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		want := &adminjson.Graph{
			Since: time.Now().Add(-time.Hour).UTC(), Until: time.Now().UTC(), Tasks: 5, Complete: true,
			Calls: []adminjson.Call{
				{From: "bob", To: "pay", Tasks: 2, Failed: 1, Newest: adminjson.TaskRef{TaskID: lost.ID, Owner: "bob"}, NewestFailed: &adminjson.TaskRef{TaskID: direct.ID, Owner: "bob"}},
				{From: "shop", Delegated: true, To: "pay", Tasks: 2, Failed: 1, Newest: adminjson.TaskRef{TaskID: again.ID, Owner: "ann"}, NewestFailed: &adminjson.TaskRef{TaskID: "pay3", Owner: "ann"}},
				{From: "ann", To: "shop", Tasks: 1, Open: 1, Newest: adminjson.TaskRef{TaskID: shop.ID, Owner: "ann"}},
			},
			Spending: []adminjson.Spending{{Day: "2000-01-01", Owner: "ann", Agent: "pay", Tasks: 2, InputTokens: 15, OutputTokens: 3, CostUSD: 1.5}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("graph mismatch (-want +got):\n%s", diff)
		}
	})
}

// TestGraphIsShared checks that further viewers cost nothing for ten seconds.
func TestGraphIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.call("ann", "shop", 0, task.Completed, "")
		r := callgraph.New(w)
		last := func(want int) {
			t.Helper()
			g, err := r.Last(t.Context(), time.Hour)
			if err != nil || g.Tasks != want {
				t.Fatalf("graph = %+v, %v, want %d tasks", g, err, want)
			}
		}
		last(1)
		read := w.lists.Load() + w.sidecars.Load()
		w.call("ann", "shop", 0, task.Completed, "")
		for range 100 {
			last(1)
		}
		if n := w.lists.Load() + w.sidecars.Load(); n != read {
			t.Errorf("100 viewers read %d pages", n-read)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		last(2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, err := r.Last(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("a viewer that has gone: %v", err)
		}
		last(2)
	})
}

// TestGraphIsBounded counts the newest tasks of very many, with lineages.
func TestGraphIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range callgraph.MaxTasks/2 + 50 {
		parent := w.call("ann", task.Agent(fmt.Sprint("a", i%2000)), 0, task.Completed, `{"costUsd":1}`)
		w.call("ann", "b", parent.Key, task.Completed, "")
	}
	g, err := callgraph.New(w).Last(t.Context(), 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if g.Tasks != callgraph.MaxTasks || g.Complete || g.Oldest == nil {
		t.Errorf("graph has %d tasks, complete %v, oldest %v", g.Tasks, g.Complete, g.Oldest)
	}
	delegated := 0
	for _, c := range g.Calls {
		if c.Delegated {
			delegated++
		}
	}
	if len(g.Calls) != 2000 || g.MoreCalls != 2000 || len(g.Spending) != 2000 || delegated < 1000 {
		t.Errorf("graph has %d calls and %d more, %d delegated, %d lines of spending", len(g.Calls), g.MoreCalls, delegated, len(g.Spending))
	}
	if n := w.lists.Load() + w.sidecars.Load(); n > 2*callgraph.MaxTasks/100+2 {
		t.Errorf("the graph takes %d reads of the store", n)
	}
}
