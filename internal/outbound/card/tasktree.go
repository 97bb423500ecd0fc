package card

import "github.com/a2aproject/a2a-go/v2/a2a"

// TaskTree is the URI of the extension with which a server lists the tasks below a task, that is,
// those that its agents have delegated. A caller activates it for GetTask.
const TaskTree = "https://github.com/parley-a2a/parley/blob/main/docs/task-tree.md#v1"

// TaskTreeExtension returns the declaration of TaskTree.
func TaskTreeExtension() a2a.AgentExtension {
	return a2a.AgentExtension{URI: TaskTree, Description: "GetTask returns the tasks that were delegated below a task."}
}

// Declares reports whether a card declares an extension.
func Declares(c *a2a.AgentCard, uri string) bool {
	for i := range c.Capabilities.Extensions {
		if c.Capabilities.Extensions[i].URI == uri {
			return true
		}
	}
	return false
}
