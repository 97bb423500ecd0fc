package ledger_test

import (
	"testing"

	"github.com/parley-a2a/parley/directory/ledger"
	"github.com/parley-a2a/parley/directory/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	ledgertest.Test(t, func(*testing.T) ledgertest.Ledger { return new(ledger.Memory) })
}
