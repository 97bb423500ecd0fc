// Package agentfile reads the files that list remote agents, and follows their changes. Parts add
// formats of files; this package has two of its own:
//
//   - well-known-agents.json, the list of RockBot: permanent agents. If a list of skills is
//     given, it is complete;
//   - known-agents.json, the list of agents that have announced themselves.
//
// Each of them is a [directory.Source].
//
// # Guarantees
//
// Every problem is reported with file, line and key, and all problems of a file at once. A
// valid agent is loaded, regardless of problems in the others. As long as a file has a problem,
// no agent that it named before is removed.
//
// A file is read again when its content changes. That includes a changed link on the path to
// it, as in volumes of Kubernetes.
package agentfile
