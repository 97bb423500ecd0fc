package memstore_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(*testing.T) task.Store { return new(memstore.Store) })
}
