// Package mock is an A2A server that follows a script, for testing the callers of agents.
//
// # Purpose
//
// A script in YAML lists agents, and for each of them rules: a condition on messages and the
// answer to them. Package mocktest serves a script for the duration of a Go test; parley mock
// serves it from the command line.
//
//	s := mocktest.Start(t, `
//	a2a_agents:
//	  - name: weather
//	    responses:
//	      - match: {contains: rome}
//	        response: Sunny.
//	      - steps:
//	          - ask: Which city?
//	          - artifact: {name: forecast, chunks: ["Sunny ", "in {{text}}."], every: 50ms}
//	`)
//	c, err := client.Dial(ctx, s.URL(), client.Options{})
//
// Files of other mocks with the key a2a_agents are scripts, also inside a larger configuration. [Config] describes every element of a script, and the JSON Schema in the folder
// schema describes it to editors.
//
// The first rule that matches answers. A message to a waiting task continues with the remaining
// steps of the task, if there are any. Every agent supports v1.0 over JSON-RPC and HTTP+JSON,
// v0.3 over JSON-RPC, and the dialects derived from it that parts add, unless its key serve lists fewer; an answer
// has the shape of its request. [Server.RequestHandler] serves the same agent over another
// binding, such as gRPC. Its card is at /a2a/NAME and /v1/a2a/NAME. The card of the first agent
// is also at the root, as agent-card.json and as agent.json.
//
// # Guarantees
//
// Faults on the wire, protocol errors and wrong cards occur only where the script has them.
// Everything else is exact: a request that breaks the protocol gets the protocol's error. The
// same requests in the same order get the same ids. A fault among the steps of a task is
// injected once, for one follower.
//
// Every request is recorded before it is answered; [Server.Wait] waits for one without polling.
// Credentials are kept in [Request.Header] and hidden in JSON.
//
// Memory is bounded: a thousand tasks and contexts with a hundred messages a task, ten thousand
// requests with 64 MiB of bodies. The oldest are dropped first.
//
// # Limits
//
// Nothing is stored, and callers are not distinguished. There are no push notifications and no
// extended cards. A mock is not a hub.
//
// # Concurrency
//
// A Server is safe for concurrent use. Each task with steps to execute has a goroutine, which
// ends when the task ends or waits; Close waits for all of them.
package mock
