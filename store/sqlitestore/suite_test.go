package sqlitestore

import (
	"testing"

	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/task/tasktest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(t *testing.T) task.Store { return newTest(t).Tasks() })
}
