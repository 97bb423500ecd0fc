package exchange

import (
	"strings"

	"github.com/parley-a2a/parley/task"
)

// StateName returns the name of a state in the form for people: "input-required".
func StateName(s task.State) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}
