// Package tasktree is the form in which a hub lists the tasks below a task to callers of other
// hubs: the extension card.TaskTree of docs/task-tree.md.
//
// # Overview
//
// Append writes a Tree as the value of the metadata that the extension defines, and Parse reads
// it. Of summarizes a task of this hub.
//
// # Guarantees
//
// A Tree that Parse returns is bounded and well formed, whatever the other server has sent: at
// most MaxTasks tasks, each once and after its parent, at most MaxDepth levels, and all values in
// their bounds. Parse drops all else, and sets More where it has dropped something.
//
// # Non-guarantees
//
// Ids and names are texts of the other server. A page or a terminal has to escape them.
package tasktree
