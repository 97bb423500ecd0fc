// Package llm is what a language model gets from Parley: tools to find agents, to
// call them, to follow what they do, and to remember.
//
// # What it is
//
// A Tool is a function with a schema and a description that a model reads. A Source has
// tools, which may change. Whoever runs a model, whether an MCP host or a model agent of
// the hub, calls them with a Call and shows the model the Result.
//
// Package toolbox has tools to find, call and follow agents, to remember and to ask people;
// package hubtools is a hub behind them, over HTTP. Package bridge has a tool for each skill
// of each agent. Package args describes and reads arguments.
//
// # Guarantees
//
// A mistake of the model is a Result with Error set and a text that says what to do
// instead; an error of Go means that the call itself was broken off. Nothing here imports
// an engine, a server or a store.
//
// # What it does not promise
//
// A Tool does not check who calls it: whoever offers it does.
//
// # Concurrency
//
// Tools are called side by side. A Call belongs to one call, a Result to who gets it.
//
// # Testing
//
// A Tool is called with a Call in which only Arguments are set.
package llm
