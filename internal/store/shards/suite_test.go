package shards

import (
	"bytes"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/store/pgstore"
)

func TestMain(m *testing.M) {
	if point := os.Getenv("PARLEY_MOVER"); point != "" {
		os.Exit(mover(point))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(pgtest.Exit))
}

func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// bytesOf returns n bytes, and partOf their digest.
func bytesOf(n int) io.Reader { return bytes.NewReader(bytes.Repeat([]byte("x"), n)) }

func partOf(_ *testing.T, n int) blobstore.Digest {
	return sha256.Sum256(bytes.Repeat([]byte("x"), n))
}

// options are those of the hub with an id.
func options(id, home string, others ...string) Options {
	return Options{
		Home: home, Others: others, Logger: slog.New(slog.DiscardHandler),
		Each: pgstore.Options{Member: &cluster.Hub{ID: id, Holder: cluster.NewHolder(), Version: "1", Config: "c"}},
	}
}

// openTest opens a log and closes it with the test.
func openTest(tb testing.TB, o Options) *DB {
	tb.Helper()
	db, err := Open(tb.Context(), o)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return db
}

func TestTasks(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(t *testing.T) task.Store {
		s := pgtest.Shared(t)
		return openTest(t, options("a", s.Database(t), s.Database(t))).Tasks()
	})
}
