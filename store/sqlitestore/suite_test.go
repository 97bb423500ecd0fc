package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(t *testing.T) task.Store { return newTest(t).Tasks() })
}
