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

func TestTasks(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(t *testing.T) task.Store { return newTest(t).Tasks() })
}

func TestInbox(t *testing.T) {
	t.Parallel()
	inboxtest.Test(t, func(t *testing.T) inbox.Store { return newTest(t).Inbox() })
}

func TestLetters(t *testing.T) {
	t.Parallel()
	deadlettertest.Test(t, func(t *testing.T) queue.LetterStore { return newTest(t).Letters() })
}

func TestNotes(t *testing.T) {
	t.Parallel()
	memorytest.TestNotes(t, func(t *testing.T) memory.Store { return newTest(t).Notes() })
}

func TestTurns(t *testing.T) {
	t.Parallel()
	memorytest.TestTurns(t, func(t *testing.T) memory.TurnStore { return newTest(t).Turns() })
}

func TestAgentStore(t *testing.T) {
	t.Parallel()
	dirstoretest.Test(t, func(t *testing.T) dirstoretest.AgentStore { return newTest(t).AgentStore() })
}
