// Package openaitest is a test server for OpenAI's chat completions that behaves like real
// providers and local model servers, including their faults.
//
// A [Script] computes the model's turn from the request alone. So the server has no state that
// a client could rely on, and it can serve clients that are killed and restarted. Streams are
// split within JSON and within characters, tool calls arrive in interleaved pieces, and
// comments keep the connection alive.
//
// The server checks requests as strictly as the strictest provider ([Request.Check]). It also
// checks that each turn of the assistant in a history is one that it has sent completely. It
// refuses an invalid request with 400, and fails the test when it closes.
package openaitest
