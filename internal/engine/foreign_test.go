package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// askedStore records the reads of a store: by owner, or by the owner of a key.
type askedStore struct {
	task.Store

	mu     sync.Mutex // guards the fields below
	owners map[task.Key]task.Owner
	asked  []string
}

// take returns the reads since the last take.
func (s *askedStore) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *askedStore) note(what string, owner task.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s of %s", what, owner))
}

func (s *askedStore) noteKey(what string, key task.Key) {
	s.mu.Lock()
	owner := s.owners[key]
	s.mu.Unlock()
	s.note(what, owner)
}

func (s *askedStore) Append(ctx context.Context, c *task.Change) error {
	s.note("Append", c.Next.Owner)
	err := s.Store.Append(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[c.Next.Key] = c.Next.Owner
	return err
}

func (s *askedStore) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	s.note("Head", owner)
	return s.Store.Head(ctx, owner, id)
}

func (s *askedStore) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	s.noteKey("Read", key)
	return s.Store.Read(ctx, key, after)
}

func (s *askedStore) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	s.note("List", q.Owner)
	return s.Store.List(ctx, q)
}

func (s *askedStore) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	s.note("Interrupted", q.Owner)
	return s.Store.Interrupted(ctx, q)
}

func (s *askedStore) Snapshot(ctx context.Context, key task.Key) (task.Snapshot, error) {
	s.noteKey("Snapshot", key)
	return s.Store.Snapshot(ctx, key)
}

func (s *askedStore) Hooks(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
	s.noteKey("Hooks", key)
	return s.Store.Hooks(ctx, key, after, limit)
}

func (s *askedStore) DropHook(ctx context.Context, ref task.HookRef) error {
	s.noteKey("DropHook", ref.Task)
	return s.Store.DropHook(ctx, ref)
}

// guess is a caller's knowledge of another's task: its id, its context, and a token of its
// owner's list.
type guess struct {
	id             a2a.TaskID
	context, token string
}

// foreignCalls are the operations that name a task, a context or a page.
var foreignCalls = map[string]func(context.Context, *bench, *op.Caller, guess) error{
	"get": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Get(ctx, c, &op.Get{ID: g.id})
		return err
	},
	"cancel": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Cancel(ctx, c, &op.Cancel{ID: g.id})
		return err
	},
	"subscribe": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Subscribe(ctx, c, &op.Subscribe{ID: g.id})
		return err
	},
	"resume": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Subscribe(ctx, c, &op.Subscribe{ID: g.id, LastEventID: "1"})
		return err
	},
	"resume from the future": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Subscribe(ctx, c, &op.Subscribe{ID: g.id, LastEventID: "99"})
		return err
	},
	"resume from nonsense": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Subscribe(ctx, c, &op.Subscribe{ID: g.id, LastEventID: "x"})
		return err
	},
	"send": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Send(ctx, c, reply(g.id, "x"))
		return err
	},
	"send in its context": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		r := reply(g.id, "x")
		r.Message.ContextID = g.context
		_, err := b.Send(ctx, c, r)
		return err
	},
	"stream": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.Stream(ctx, c, reply(g.id, "x"))
		return err
	},
	"list of a context": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		page, err := b.List(ctx, c, &op.List{PageSize: 10, ContextID: g.context, IncludeArtifacts: true})
		if err == nil && (page.TotalSize != 0 || len(page.Tasks) != 0) {
			return fmt.Errorf("%d tasks", page.TotalSize)
		}
		return err
	},
	"next page": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.List(ctx, c, &op.List{PageSize: 1, PageToken: g.token})
		return err
	},
	"create a webhook": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.CreatePush(ctx, c, config(g.id, "b"))
		return err
	},
	"get a webhook": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.GetPush(ctx, c, &op.PushRef{TaskID: g.id, ID: "a"})
		return err
	},
	"list webhooks": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		_, err := b.ListPush(ctx, c, &op.PushList{TaskID: g.id})
		return err
	},
	"delete a webhook": func(ctx context.Context, b *bench, c *op.Caller, g guess) error {
		return b.DeletePush(ctx, c, &op.PushRef{TaskID: g.id, ID: "a"})
	},
}

// Each operation of another caller fails in the same way with an id of alice's as with one that does
// not exist. The store is asked the same, and never for data of alice, so that it takes the same time.
func TestForeignIsAsMissing(t *testing.T) {
	t.Parallel()
	s := &askedStore{Store: new(memstore.Store), owners: map[task.Key]task.Owner{}}
	b, p := pushing(t, engine.Config{Store: s}, asking())
	var foreign guess
	var key task.Key
	for _, name := range []string{"one", "two"} {
		h := b.send(text(name)).Head
		b.push(config(h.ID, "a"))
		foreign.id, foreign.context, key = h.ID, h.ContextID, h.Key
	}
	page, err := b.List(t.Context(), alice, &op.List{PageSize: 1})
	if err != nil || page.NextPageToken == "" {
		t.Fatalf("List = %+v, %v; want a further page", page, err)
	}
	foreign.token = page.NextPageToken
	missing := guess{"nowhere", "no-context", strings.Repeat("A", len(foreign.token))}
	s.take()
	bob := caller("bob")
	for name, do := range foreignCalls {
		got := do(t.Context(), b, bob, foreign)
		asked := s.take()
		want := do(t.Context(), b, bob, missing)
		if fmt.Sprint(got) != fmt.Sprint(want) || errors.Is(got, a2a.ErrTaskNotFound) != errors.Is(want, a2a.ErrTaskNotFound) {
			t.Errorf("%s: %v, want the answer for what does not exist: %v", name, got, want)
		}
		if (got == nil) != (name == "list of a context") {
			t.Errorf("%s = %v", name, got)
		}
		if diff := cmp.Diff(s.take(), asked); diff != "" {
			t.Errorf("%s: the store is asked differently (-missing +foreign):\n%s", name, diff)
		}
		for _, call := range asked {
			if !strings.HasSuffix(call, " of bob") {
				t.Errorf("%s asks for %s, want data of bob alone", name, call)
			}
		}
	}
	if known := p.Known(key); len(known) != 1 {
		t.Errorf("the task has %d webhooks after foreign calls, want 1", len(known))
	}
	if h := b.get(foreign.id).Head; h.State != task.InputRequired {
		t.Errorf("after foreign calls the task is %v, want it unchanged", h.State)
	}
}
