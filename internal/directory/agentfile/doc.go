// Package agentfile reads the files that name agents elsewhere, and follows them while
// they change:
//
//   - agents.yaml, the list of protoWorkstacean: agents with skills that win over those of
//     their cards;
//   - well-known-agents.json, the list of RockBot: agents that are always there, and whose
//     skills, if they are given, are all that is known;
//   - agent specs, as Awaken has them: JSON or YAML, one or a list in a file, whose
//     endpoint says where an agent is.
//
// Each of them is a [directory.Source].
//
// # Guarantees
//
// Every problem is told with file, line and key, and all problems of a file at once. An
// agent without a problem is known, whatever is wrong with the others. While a file has a
// problem nothing disappears that it has named before.
//
// A file is read again when its content has changed, also where a link on the way to it is
// turned elsewhere, as volumes of Kubernetes do.
//
// # Testing
//
// The parsers take a text and a function that stands for the environment.
package agentfile
