// Package protoworkstacean drives the parley command with strict peers of protoWorkstacean:
// agents and callers that have the literal shapes of its documentation of the A2A runtime,
// and refuse what the real ones refuse. README.md says which facts they hold and where these
// were read.
//
// The tests start real hubs with parley.yaml and workspace/agents.yaml; nothing of the hub is
// replaced.
package protoworkstacean
