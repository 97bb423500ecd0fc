package isolation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

// spy records the calls for callers: by owner, or by key. It ignores the work of the hub
// itself.
type spy struct {
	task.Store

	mu     sync.Mutex // guards the fields below
	owners map[task.Key]task.Owner
	asked  []string
}

func newSpy(t *testing.T, kind string) *spy {
	t.Helper()
	s := &spy{Store: new(memstore.Store), owners: make(map[task.Key]task.Owner)}
	if kind == "memory" {
		return s
	}
	db, err := sqlitestore.Open(t.TempDir()+"/tasks.db", sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	s.Store = db.Tasks()
	return s
}

// take returns the calls since the last take.
func (s *spy) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *spy) note(what string, owner task.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%s of %s", what, owner))
}

func (s *spy) noteKey(what string, key task.Key) {
	s.mu.Lock()
	owner, ok := s.owners[key]
	s.mu.Unlock()
	if !ok {
		owner = "nobody"
	}
	s.note(what, owner)
}

func (s *spy) Append(ctx context.Context, c *task.Change) error {
	s.note("Append", c.Next.Owner)
	err := s.Store.Append(ctx, c)
	if err == nil {
		s.mu.Lock()
		s.owners[c.Next.Key] = c.Next.Owner
		s.mu.Unlock()
	}
	return err
}

func (s *spy) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	s.note("Head", owner)
	return s.Store.Head(ctx, owner, id)
}

func (s *spy) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	s.noteKey("Read", key)
	return s.Store.Read(ctx, key, after)
}

func (s *spy) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	s.note("List", q.Owner)
	return s.Store.List(ctx, q)
}

func (s *spy) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	s.note("Interrupted", q.Owner)
	return s.Store.Interrupted(ctx, q)
}

func (s *spy) Snapshot(ctx context.Context, key task.Key) (task.Snapshot, error) {
	s.noteKey("Snapshot", key)
	return s.Store.Snapshot(ctx, key)
}

func (s *spy) PutHook(ctx context.Context, h *task.Hook) error {
	s.noteKey("PutHook", h.Task)
	return s.Store.PutHook(ctx, h)
}

func (s *spy) Hooks(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
	s.noteKey("Hooks", key)
	return s.Store.Hooks(ctx, key, after, limit)
}

func (s *spy) DropHook(ctx context.Context, ref task.HookRef) error {
	s.noteKey("DropHook", ref.Task)
	return s.Store.DropHook(ctx, ref)
}

// of returns the calls about an owner.
func of(owner task.Owner, asked []string) []string {
	suffix := fmt.Sprintf(" of %s", owner)
	return slices.DeleteFunc(slices.Clone(asked), func(s string) bool {
		return len(s) < len(suffix) || s[len(s)-len(suffix):] != suffix
	})
}
