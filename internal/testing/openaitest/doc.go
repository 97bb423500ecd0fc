// Package openaitest is a server for tests that speaks the chat completions of OpenAI as
// real providers and local model servers do, with their faults.
//
// A [Script] decides what the model says, from the request alone, so that the server has
// no state that a client could rely on: it may serve clients that are killed and started
// again. Streams are split within JSON and within characters, tool calls come in pieces
// and side by side, comments keep the connection alive.
//
// It checks requests as strictly as the strictest provider ([Request.Check]), and that each
// turn of the assistant in a history is one that it has given to the end. What is wrong is
// refused with 400 and fails the test when the server closes.
package openaitest
