// Package guarded tests that the guard of a model agent means the same for every path by which
// texts of others reach its model.
//
// # Overview
//
// The test runs the real hub with a server of models that records its requests. Harmless texts and
// orders come from a remote agent, a program, a worker at a queue, an MCP server, cards, notes,
// earlier messages and the caller.
//
// # Guarantees
//
// The test fails if a path has another treatment than the guard of the agent selects, and if a text
// of others stands outside of a label.
//
// # Non-guarantees
//
// The rates of the screen are measured in package internal/llm/guard.
//
// # Concurrency
//
// All agents share one hub; their conversations run one after the other, because the test assigns
// the requests to the model by their order.
package guarded
