// Package agentfile reads the files that list remote agents, and follows their changes. Parts add
// formats of files; this package has that of known-agents.json, the list of agents that have
// announced themselves. Each file is a [directory.Source].
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
