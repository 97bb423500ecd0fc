// Package transcript tests a server with transcripts: text files of requests and expected
// answers.
//
// A transcript is a txtar file. It begins with a comment that describes it and with the files
// that the [Suite] requires, such as a configuration. Then requests and answers alternate:
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
// A request is a line with method and path, headers, an empty line and a body; headers and body
// may be missing. An answer is its status code, those headers that the suite shows, an empty
// line and the body. [Suite.Run] sends the requests and compares the answers as text. After an
// intended change,
//
//	go test ./that/package -update
//
// rewrites the answers; review the difference before the commit.
//
// # Names
//
// Values that differ from run to run are replaced by names in answers. $1, $2 and so on are ids
// (UUIDs) in order of appearance; an id has the same name throughout a transcript. $TIME is a
// timestamp with milliseconds in UTC. A [Mask] defines further names. A later request may use
// every name that an answer contained: a number stands for that id, a word for its most recent
// value. Other words with a dollar sign are sent unchanged.
//
// # Guarantees
//
// An answer that differs by a byte, apart from named values, fails the test, and so does an
// answer that is missing, surplus or out of order. A pattern that matches no file fails the
// test. A transcript with a file that is neither required nor a request or an answer fails the
// test too, and -update does not write it.
//
// # Non-guarantees
//
// Headers that the suite does not show are not compared. An answer is compared when it is
// complete, so a transcript states nothing about the arrival times of the parts of a stream.
//
// # Concurrency
//
// Each transcript is a parallel subtest with a server of its own. The goroutine of that subtest
// sends its requests one after the other.
//
// # Testing
//
// The package is for tests alone. It defines the flag -update, so only tests may import it;
// treetest enforces this.
package transcript
