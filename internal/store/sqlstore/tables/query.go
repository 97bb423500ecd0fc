package tables

import (
	"iter"
	"strings"
)

// Query is a statement of [All].
type Query int

// statements is filled while the package is initialised and only read afterwards.
var statements []struct{ text, topic string }

// prepared adds a statement.
func prepared(text string) Query { return changing("", text) }

// changing is like prepared, for a statement that changes what other hubs keep of a topic.
func changing(topic, text string) Query {
	statements = append(statements, struct{ text, topic string }{text, topic})
	return Query(len(statements) - 1)
}

// All returns all statements, which are numbered from 0.
func All() iter.Seq[Query] {
	return func(yield func(Query) bool) {
		for i := range statements {
			if !yield(Query(i)) {
				return
			}
		}
	}
}

// Topic returns the topic whose data the statement changes; empty for none. Other hubs of the
// database must read the data again.
func (q Query) Topic() string { return statements[q].topic }

// PostgreSQL returns the text for PostgreSQL.
func (q Query) PostgreSQL() string { return statements[q].text }

// adapt names values as SQLite does, turns the comments for SQLite into text, and the text for PostgreSQL
// into comments. A limit that is a value alone would make SQLite prepare the statement again for each
// execution, to plan with its number.
var adapt = strings.NewReplacer("LIMIT $", "LIMIT 0 + ?", "$", "?", "/*postgres{*/", "/*", "/*}*/", "*/", "/*sqlite", "", "*/", "")

// SQLite returns the text for SQLite.
func (q Query) SQLite() string { return SQLite(statements[q].text) }

// SQLite returns a text of the form of this package for SQLite.
func SQLite(text string) string { return adapt.Replace(text) }
