package sqlitestore

import (
	"cmp"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Damage describes a read or write that has met damaged data.
type Damage struct {
	// Task is the id of the task whose data is damaged; empty if it is not known, or if the data
	// belongs to no task. Key is its key, zero if it is not known.
	Task a2a.TaskID
	Key  task.Key
	// Err is the error that the caller gets.
	Err error
	// First is set if it is the first damage of its task or, without a task, the first with this
	// error. After 1,000 of them it is never set.
	First bool
}

// subject names the task that is read, by its id or its key; the zero subject is no task.
type subject struct {
	id  a2a.TaskID
	key task.Key
}

// damages remembers the damaged objects that were met.
type damages struct {
	report func(Damage)
	seen   sqlstore.Damages
}

// Damages returns the number of damaged objects that reads and writes have met since Open, at
// most 1,000.
func (db *DB) Damages() int { return db.damages.seen.Len() }

// met reports err if it is about damaged data.
func (db *DB) met(of subject, err error) {
	if !errors.Is(err, ErrDamaged) {
		return
	}
	if of.id == "" && of.key != 0 {
		of.id = db.idOf(of.key)
	}
	first := db.damages.seen.Add(cmp.Or(string(of.id), err.Error()))
	d := Damage{Task: of.id, Key: of.key, Err: err, First: first}
	if db.damages.report != nil {
		db.damages.report(d)
	}
}

var qIDOf = prepared("SELECT id FROM tasks WHERE key = ?")

// idOf returns the id of a task, or "" if it cannot be read.
func (db *DB) idOf(key task.Key) (id a2a.TaskID) {
	c, err := openConn(db.reading)
	if err != nil {
		return ""
	}
	s := c.start(qIDOf)
	s.int(int64(key))
	if s.next() {
		id = a2a.TaskID(s.ID())
		s.close()
	}
	_ = c.close() // it was only read
	return id
}
