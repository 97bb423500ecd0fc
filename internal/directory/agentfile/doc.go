// Package agentfile reads the files that list remote agents, and follows their changes:
//
//   - agents.yaml, the list of protoWorkstacean: agents with skills that override those of
//     their cards;
//   - well-known-agents.json, the list of RockBot: permanent agents. If a list of skills is
//     given, it is complete;
//   - agent specs in the format of Awaken: JSON or YAML, one or a list per file, with the
//     agent's address as the endpoint.
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
