// Package protoworkstacean tests the parley command with strict peers of protoWorkstacean:
// agents and callers that use the literal shapes in its documentation of the A2A runtime, and
// refuse the same requests as the real ones. README.md lists the facts that they enforce, with
// their sources.
//
// The tests start real hubs with parley.yaml and workspace/agents.yaml; no part of the hub is
// replaced.
package protoworkstacean
