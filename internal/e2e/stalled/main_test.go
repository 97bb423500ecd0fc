package stalled

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spy is a store that counts its writes, and that can be made to fail.
type spy struct {
	task.Store
	appends atomic.Int64
	// written counts the bytes of bodies that were appended.
	written atomic.Int64
	// broken is the error that every method returns, if it is set.
	broken atomic.Pointer[error]
}

func (s *spy) failure() error {
	if p := s.broken.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *spy) Append(ctx context.Context, c *task.Change) error {
	if err := s.failure(); err != nil {
		return err
	}
	s.appends.Add(1)
	for i := range c.Entries {
		s.written.Add(int64(len(c.Entries[i].Body)))
	}
	return s.Store.Append(ctx, c)
}

func (s *spy) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	if err := s.failure(); err != nil {
		return task.Head{}, err
	}
	return s.Store.Head(ctx, owner, id)
}

func (s *spy) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if err := s.failure(); err != nil {
		return task.ListPage{}, err
	}
	return s.Store.List(ctx, q)
}

// newStore returns an empty store of a kind of storeKinds.
func newStore(t *testing.T, kind string) *spy {
	t.Helper()
	if kind == "memory" {
		return &spy{Store: new(memstore.Store)}
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
	return &spy{Store: db.Tasks()}
}

// logbook keeps log records; it is safe for concurrent use.
type logbook struct {
	mu   sync.Mutex // guards the fields below
	buf  bytes.Buffer
	wake chan struct{} // closed by the next record; nil without a waiting test
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
	return l.buf.Write(b)
}

// await waits until text has been logged.
func (l *logbook) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		l.mu.Lock()
		if strings.Contains(l.buf.String(), text) {
			l.mu.Unlock()
			return
		}
		if l.wake == nil {
			l.wake = make(chan struct{})
		}
		wake := l.wake
		l.mu.Unlock()
		select {
		case <-wake:
		case <-late:
			t.Fatalf("%q is not in the log:\n%s", text, l)
		}
	}
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
