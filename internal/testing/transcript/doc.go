// Package transcript tests a server by stories that are told in requests and answers.
//
// A transcript is a txtar file. It begins with its story in words and with the files
// that the [Suite] asks for, such as a configuration; then come requests and answers
// in turn:
//
//	A task that was deleted is gone.
//
//	-- request --
//	POST /things
//	Content-Type: text/plain
//
//	a thing
//	-- response --
//	201
//	Content-Type: application/json
//
//	{"id":"$1","made":"$TIME"}
//	-- request --
//	DELETE /things/$1
//	-- response --
//	204
//
// A request is a line with method and path, headers, an empty line and a body; headers
// and body may be missing. An answer is its status code, the headers that the suite
// shows, an empty line and the body. [Suite.Run] sends the requests and compares the
// answers as text. After a change that is meant,
//
//	go test ./that/package -update
//
// writes the answers again; read the difference before you commit it.
//
// # Names
//
// What differs from run to run has a name in answers. $1, $2 … are ids (UUIDs) in the
// order in which they appear, the same id by the same name throughout a transcript.
// $TIME is a timestamp with milliseconds in UTC. A [Mask] gives further names. A later
// request may use each name that an answer has had: a number is that id, a word is what
// it stood for last. Other words with a dollar sign are sent as they are.
//
// # Guarantees
//
// An answer that differs by a byte, outside of what has a name, fails the test, and so
// does one that is missing, too many, or out of turn. A pattern that no file matches and
// a file in a transcript that is neither asked for nor a request or an answer fail the
// test too, and -update does not write such a transcript.
//
// # What it does not promise
//
// Headers that the suite does not show are not compared. An answer is compared when it
// is complete, so a transcript says nothing about when the parts of a stream arrived.
//
// # Concurrency
//
// Each transcript is a parallel subtest with a server of its own; its requests are sent
// one after the other by the goroutine of that subtest.
//
// # Testing
//
// The package is for tests alone: it defines the flag -update, so nothing but tests may
// import it, which a test of the tree holds.
package transcript
