package task_test

import (
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// The title in the card of an agent becomes its name in addresses.
func ExampleAgentNamed() {
	fmt.Println(task.AgentNamed("Research Agent (v2)"))
	// Output: research-agent-v2
}

// A state of the protocol ends a task, waits for the caller, or neither.
func ExampleState() {
	for _, name := range []string{"TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"} {
		s, _ := task.ParseState(name)
		fmt.Println(s.Word(), s.Interrupted(), s.Terminal())
	}
	// Output:
	// working false false
	// input-required true false
	// completed false true
}
