// Package tables has the tables that are the same in SQLite and in PostgreSQL: their statements, and
// the stores of the hub over them, such as the inbox and the API keys. Of the tables of tasks it has the
// operations that few messages need ([Tasks]): lists of contexts and ids, the timeline, sweeps, and reads
// of the rows beside tasks. Each store appends and reads heads and entries in its own way.
//
// A store implements [DB] and [Conn]. It prepares the statements of [All] once for each connection.
//
// A statement has one text for both databases, with values $1, $2 and so on; [Query.SQLite] adapts
// it: comments that begin with sqlite are text for SQLite alone, and the text between the comments
// postgres{ and } is for PostgreSQL alone. A value is a string, a []byte, a time, an integer, or a
// pointer to one of them. Texts that may be long are stored as bytes, and times as milliseconds since
// 1970; zero is the zero time.
//
// # Concurrency
//
// The stores are safe for concurrent use. A Conn belongs to one goroutine.
package tables
