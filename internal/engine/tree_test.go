package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// nodeText returns a node as text.
func nodeText(n *engine.Node) string {
	return fmt.Sprint(strings.Repeat("  ", n.Depth), n.Head.Agent, " ", strings.TrimPrefix(n.Head.State.String(), "TASK_STATE_"))
}

// watched collects the lines of a tree until it ends, and sends each to a channel.
func (b *bench) watched(id a2a.TaskID, lines chan<- string) ([]string, error) {
	var all []string
	for n, err := range b.WatchTree(b.t.Context(), alice, id) {
		if err != nil {
			return all, err
		}
		all = append(all, nodeText(&n))
		if lines != nil {
			lines <- nodeText(&n)
		}
	}
	return all, nil
}

// twoSteps works until the test lets it continue.
func twoSteps(proceed <-chan struct{}) *executor {
	return &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, "at it"), nil) {
			return
		}
		select {
		case <-proceed:
			yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
		case <-ctx.Done():
		}
	}}
}

// TestWatchTree follows a chain of three tasks from beginning to end: children appear by
// themselves, and each status is yielded once.
func TestWatchTree(t *testing.T) {
	t.Parallel()
	proceed, start1 := make(chan struct{}), make(chan struct{})
	first := asks("middle", "", nil).run
	b := start(t, engine.Config{}, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		<-start1
		first(ctx, ec, yield)
	}})
	b.register("middle", asks("last", "", nil))
	b.register("last", twoSteps(proceed))
	id := b.send(now(text("hi"))).Head.ID
	changes := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		_, err := b.watched(id, changes)
		close(changes)
		done <- err
	}()
	var got []string
	for line := range changes {
		got = append(got, line)
		switch line {
		case "main WORKING":
			close(start1)
		case "    last WORKING":
			close(proceed)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"main WORKING": true, "    last WORKING": true, "main COMPLETED": true, "  middle COMPLETED": true, "    last COMPLETED": true}
	seen := map[string]int{}
	for _, line := range got {
		if seen[line]++; seen[line] > 1 {
			t.Errorf("%q is yielded %d times in %q", line, seen[line], got)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("the tree yielded %q, and not %v", got, want)
	}
	nodes, err := b.Tree(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range nodes {
		lines = append(lines, nodeText(&nodes[i]))
	}
	if diff := cmp.Diff([]string{"main COMPLETED", "  middle COMPLETED", "    last COMPLETED"}, lines); diff != "" {
		t.Errorf("the tree at last (-want +got):\n%s", diff)
	}
	if nodes[0].Parent != "" || nodes[1].Parent != id || nodes[2].Parent != nodes[1].Head.ID || nodes[2].Kind != "local" {
		t.Errorf("parents are %q, %q, %q", nodes[0].Parent, nodes[1].Parent, nodes[2].Parent)
	}
	if again, err := b.watched(id, nil); err != nil || len(again) != 3 {
		t.Errorf("the tree of a task that has ended yields %q, %v", again, err)
	}
}

// TestTreeIsTheCallersOwn: the tree of another caller's task is not found, like that of a
// missing task.
func TestTreeIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Limits: limits.Limits{StreamsPerCaller: 1}}, asks("other", "", nil))
	b.register("other", untilStopped(nil))
	id := b.send(now(text("hi"))).Head.ID
	for _, tt := range []struct {
		user *op.Caller
		id   a2a.TaskID
	}{{caller("bob"), id}, {alice, "none"}} {
		if _, err := b.Tree(t.Context(), tt.user, tt.id); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("Tree(%s) of %s: %v", tt.id, tt.user.Principal.ID, err)
		}
		for _, err := range b.WatchTree(t.Context(), tt.user, tt.id) {
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("WatchTree(%s) of %s: %v", tt.id, tt.user.Principal.ID, err)
			}
		}
	}
	if _, err := b.Tree(t.Context(), alice, id); err != nil {
		t.Errorf("Tree: %v", err)
	}
	// It counts as a stream, and releases its place.
	for range b.WatchTree(t.Context(), alice, id) {
		for _, err := range b.WatchTree(t.Context(), alice, id) {
			if !errors.Is(err, apierror.ErrExhausted) {
				t.Errorf("a second stream: %v", err)
			}
		}
		break
	}
	if n := b.Stats().Streams; n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// TestTreeEndsWithTheCallerAndTheHub: no watcher waits for ever.
func TestTreeEndsWithTheCallerAndTheHub(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(nil))
	id := b.send(now(text("hi"))).Head.ID
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range b.WatchTree(ctx, alice, id) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("without the caller: %v", last)
	}
	for _, err := range b.WatchTree(t.Context(), alice, id) {
		if err == nil {
			b.cancel()
		}
		last = err
	}
	if !errors.Is(last, engine.ErrDraining) {
		t.Errorf("without the hub: %v", last)
	}
}

// TestTreeIsBounded creates a task with more children than the tree returns.
func TestTreeIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("x"))
	root := b.send(text("hi")).Head
	for i := range 600 {
		next := root
		next.Key, next.Rev, next.ID = 0, 1, a2a.TaskID(fmt.Sprint("child-", i))
		change := &task.Change{Next: next}
		change.Sidecars[task.SidecarLineage] = (&task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}).Encode()
		change.Next.Version = 1
		change.Entries = []task.Entry{{Version: 1, Kind: task.Created, State: task.Completed, Body: []byte("{}")}}
		if err := b.store.Append(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := b.Tree(t.Context(), alice, root.ID)
	if err != nil || len(nodes) != 500 || !nodes[0].More || nodes[1].More {
		t.Errorf("%d tasks are returned, more: %v, %v", len(nodes), nodes[0].More, err)
	}
	if lines, err := b.watched(root.ID, nil); err != nil || len(lines) != 500 {
		t.Errorf("%d tasks are yielded by the watch, %v", len(lines), err)
	}
}
