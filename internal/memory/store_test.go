package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemNotes(t *testing.T) {
	t.Parallel()
	memorytest.TestNotes(t, func(*testing.T) memory.Store { return new(memory.MemNotes) })
}

func TestMemTurns(t *testing.T) {
	t.Parallel()
	memorytest.TestTurns(t, func(*testing.T) memory.TurnStore { return new(memory.MemTurns) })
}
