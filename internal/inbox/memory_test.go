package inbox_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/testing/suite/inboxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	inboxtest.Test(t, func(*testing.T) inbox.Store { return new(inbox.Memory) })
}
