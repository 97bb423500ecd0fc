// Package tables has the tables that are the same in SQLite and in PostgreSQL: their statements, and
// the stores of the hub over them, such as the inbox and the API keys. It has no table of tasks: each
// store reads and writes these in its own way, because every message pays for them.
//
// A store implements [DB] and [Conn]. It prepares the statements of [All] once for each connection.
//
// A statement has one text for both databases, with values $1, $2 and so on; [Query.SQLite] adapts
// it. A value is a string, a []byte, a time, an integer, or a pointer to one of them. Texts that may
// be long are stored as bytes, and times as milliseconds since 1970; zero is the zero time.
//
// # Concurrency
//
// The stores are safe for concurrent use. A Conn belongs to one goroutine.
package tables
