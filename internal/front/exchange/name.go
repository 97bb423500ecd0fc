package exchange

import (
	"strings"

	"github.com/parley-a2a/parley/task"
)

// StateName returns the name of a state for people who write no A2A: "input-required".
func StateName(s task.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}
