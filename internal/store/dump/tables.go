package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kind is the kind of the values of a column.
type Kind string

// Kinds of columns.
const (
	Int  Kind = "int"
	Text Kind = "text"
	// Bytes may be absent (NULL).
	Bytes Kind = "bytes"
	// ID is the id of a task or context, which databases may store in a shorter form.
	ID Kind = "id"
)

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// Table is a table of both databases.
type Table struct {
	Name    string   `json:"table"`
	Columns []Column `json:"columns"`
}

// Names returns the names of the columns, separated by commas.
func (t *Table) Names() string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// Order returns the columns that identify a row, separated by commas.
func (t *Table) Order() string {
	n := 1
	switch t.Name {
	case "counters", "requests", "hooks":
		n = 2
	case "messages", "dead_letters":
		n = 3
	}
	return (&Table{Columns: t.Columns[:n]}).Names()
}

// Serial returns the first column if the database numbers new rows by it; otherwise nothing.
func (t *Table) Serial() string {
	switch t.Name {
	case "owners", "scopes", "keys", "inbox", "memory", "turns", "letters":
		return t.Columns[0].Name
	}
	return ""
}

// tables are the tables of a store, in the order of a file. A column without a kind is a number.
const tables = `
owners id name:text
scopes id owner agent:text
tasks key owner scope id:id context:id shown state status_at ended due rev version updated_at rest:bytes
counters scope state n
entries place data:bytes
doomed task
snapshots task version data:bytes
sidecars place parent data:bytes
journal place data:bytes
requests scope key:text fingerprint:bytes task version at
messages owner id:text task
hooks task id:text url:text dialect scheme:text secret:bytes created_at delivered settled
dead_letters task hook:text first last at attempts reason:text
keys seq id:text hash:bytes hint:text principal:text created_at expires_at revoked_at
agents name:text spec:bytes secret:bytes card:bytes card_url:text etag:text seen_at created_at updated_at
notes name:text note:bytes
inbox seq id:text kind:text owner:text task:text version agent:text caller:text caller_name:text skill:text text:bytes draft:bytes created_at expires_at state:text answer:bytes settled_by:text settled_at
trust who:text level skills:text first_seen last_seen contacts
memory id owner:text key:text namespace:text category:text tags:text ref:text size created_at updated_at expires_at value:bytes
turns place owner:text session:text id:text role:text name:text at text:text
letters seq id:text queue:text reason:text at type:text source:text task:text owner:text size envelope:bytes
timeline seq n data:bytes
sequence next_key`

// Tables returns the tables of a store, in the order in which a file has them.
func Tables() []Table {
	var all []Table
	for line := range strings.SplitSeq(strings.TrimSpace(tables), "\n") {
		words := strings.Fields(line)
		t := Table{Name: words[0]}
		for _, w := range words[1:] {
			name, kind, found := strings.Cut(w, ":")
			if !found {
				kind = string(Int)
			}
			t.Columns = append(t.Columns, Column{name, Kind(kind)})
		}
		all = append(all, t)
	}
	return all
}

// rename gives a column of an earlier version its present name.
func (t *Table) rename() {
	if i := slices.Index(t.Columns, Column{"told", Int}); t.Name == "hooks" && i >= 0 {
		t.Columns[i].Name = "delivered"
	}
}

// hubNotes are the notes that belong to a hub and its folder, and not to the data. A dump has none
// of them.
var hubNotes = []string{"audit.head", "master.check"}

// Includes reports whether a row of the table belongs to the data.
func (t *Table) Includes(row []Value) bool {
	return t.Name != "notes" || !slices.Contains(hubNotes, string(row[0].Bytes))
}

// ErrNotEmpty is returned for a store that has data already.
var ErrNotEmpty = errors.New("the store has data")

// filled names the tables that are empty in a store without data. A hub that was only started has
// rows in others.
var filled = []string{"owners", "tasks", "keys", "agents", "inbox", "trust", "memory", "turns", "letters"}

// Vacant returns ErrNotEmpty for a store with data, which is a place such as "folder". empty reports
// whether a query returns no row; more are tables that only this store has.
func Vacant(place string, empty func(query string) (bool, error), more ...string) error {
	for _, name := range slices.Concat(filled, more) {
		ok, err := empty("SELECT 1 FROM " + name + " LIMIT 1")
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		if !ok {
			return fmt.Errorf("%w in table %s: import into a new %s", ErrNotEmpty, name, place)
		}
	}
	return nil
}

// Clear is a script that removes the rows of a hub that was only started. The texts of tasks are indexed
// anew.
var Clear = "UPDATE text_index SET seq = 0, seen = 0, at = 0, key = 0, building = 1; DELETE FROM timeline; DELETE FROM counters; DELETE FROM notes WHERE name NOT IN ('" + strings.Join(hubNotes, "', '") + "')"

// Sink receives the content of a file. All fields are required.
type Sink struct {
	// Table stores the rows of a table, which it reads from the Reader.
	Table func(*Table) error
	// File stores a file. It reads all of it.
	File func(FileHead, io.Reader) error
	// Done is called when all of the file has been verified.
	Done func() error
}

// Load passes the sections of r to a sink.
func Load(ctx context.Context, r *Reader, to Sink) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s, err := r.Next()
		if err == io.EOF {
			return to.Done()
		}
		switch {
		case err != nil:
		case s.Table != nil:
			err = to.Table(s.Table)
		default:
			err = to.File(s.File, r)
		}
		if err != nil {
			return err
		}
	}
}

// Source is a Reader whose files go to a Sink.
type Source struct {
	*Reader
	Sink Sink
}

// Each calls table for each table, which reads its rows. It stores the files between them, and
// returns nil once all of the file has been verified.
func (s Source) Each(ctx context.Context, table func(*Table) error) error {
	to := s.Sink
	to.Table = table
	return Load(ctx, s.Reader, to)
}
