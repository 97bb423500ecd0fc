package task_test

import (
	"testing"

	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/task/tasktest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(*testing.T) task.Store { return new(task.Memory) })
}
