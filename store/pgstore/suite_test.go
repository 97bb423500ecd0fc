package pgstore

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/suite/deadlettertest"
	"github.com/parley-a2a/parley/internal/testing/suite/dirstoretest"
	"github.com/parley-a2a/parley/internal/testing/suite/inboxtest"
	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(pgtest.Exit)) }

// openTest opens a database and closes it with the test.
func openTest(tb testing.TB, url string, o Options) *DB {
	tb.Helper()
	db, err := Open(tb.Context(), url, o)
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

func newTest(tb testing.TB) *DB {
	tb.Helper()
	return openTest(tb, pgtest.Shared(tb).Database(tb), Options{})
}

// everywhere runs a suite on a database, and on one behind a pooler in transaction mode.
func everywhere(t *testing.T, suite func(t *testing.T, open func(t *testing.T) *DB)) {
	t.Parallel()
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		suite(t, func(t *testing.T) *DB { return newTest(t) })
	})
	t.Run("pooler", func(t *testing.T) {
		t.Parallel()
		s := pgtest.Shared(t)
		through := s.Pooler(t, "transaction").Through
		suite(t, func(t *testing.T) *DB { return openTest(t, through(s.Database(t)), asMember("a")) })
	})
}

func TestTasks(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		tasktest.Test(t, func(t *testing.T) task.Store { return open(t).Tasks() })
	})
}

func TestInbox(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		inboxtest.Test(t, func(t *testing.T) inbox.Store { return open(t).Inbox() })
	})
}

func TestLetters(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		deadlettertest.Test(t, func(t *testing.T) queue.LetterStore { return open(t).Letters() })
	})
}

func TestNotes(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		memorytest.TestNotes(t, func(t *testing.T) memory.Store { return open(t).Notes() })
	})
}

func TestTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		memorytest.TestTurns(t, func(t *testing.T) memory.TurnStore { return open(t).Turns() })
	})
}

func TestAgentStore(t *testing.T) {
	everywhere(t, func(t *testing.T, open func(t *testing.T) *DB) {
		dirstoretest.Test(t, func(t *testing.T) dirstoretest.AgentStore { return open(t).AgentStore() })
	})
}
