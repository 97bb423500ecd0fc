package task_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

func TestStateNames(t *testing.T) {
	t.Parallel()
	for s, name := range map[task.State]a2a.TaskState{
		task.Submitted: "TASK_STATE_SUBMITTED", task.Working: "TASK_STATE_WORKING",
		task.Completed: "TASK_STATE_COMPLETED", task.Failed: "TASK_STATE_FAILED",
		task.Canceled: "TASK_STATE_CANCELED", task.InputRequired: "TASK_STATE_INPUT_REQUIRED",
		task.Rejected: "TASK_STATE_REJECTED", task.AuthRequired: "TASK_STATE_AUTH_REQUIRED",
	} {
		if got, ok := task.ParseState(string(name)); !ok || got != s {
			t.Errorf("ParseState(%s) = %v, %v, want %v", name, got, ok, s)
		}
		if s.String() != string(name) || s.A2A() != name {
			t.Errorf("state %d is %s and %s, want %s", s, s.String(), s.A2A(), name)
		}
	}
	if got := task.InputRequired.Word(); got != "input-required" {
		t.Errorf("Word() = %q, want input-required", got)
	}
	for _, name := range []string{"", "TASK_STATE_UNSPECIFIED", "working", "TASK_STATE_CANCELLED"} {
		if got, ok := task.ParseState(name); ok {
			t.Errorf("ParseState(%q) = %v, want none", name, got)
		}
	}
	if got := task.State(77).String(); got != "State(77)" {
		t.Errorf("String() of an unknown state = %q", got)
	}
	if task.State(77).A2A() != a2a.TaskStateUnspecified || task.Unspecified.A2A() != a2a.TaskStateUnspecified {
		t.Error("A2A() of no state is not unspecified")
	}
}

func TestStateKinds(t *testing.T) {
	t.Parallel()
	// One column each for Valid, Terminal, Interrupted and Open.
	for s, want := range map[task.State]string{
		task.Unspecified: "----", 9: "----", 200: "----",
		task.Submitted: "v--o", task.Working: "v--o",
		task.InputRequired: "v-io", task.AuthRequired: "v-io",
		task.Completed: "vt--", task.Failed: "vt--", task.Canceled: "vt--", task.Rejected: "vt--",
	} {
		got := []byte("----")
		for i, is := range []bool{s.Valid(), s.Terminal(), s.Interrupted(), s.Open()} {
			if is {
				got[i] = "vtio"[i]
			}
		}
		if string(got) != want {
			t.Errorf("%v is %s, want %s", s, got, want)
		}
		if s.Terminal() && s.A2A().Terminal() != s.Terminal() {
			t.Errorf("the SDK does not think that %v is terminal", s)
		}
	}
}
