package pgstore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// Notes is the store of the working memory in a database. It implements memory.Store, memory.Sweeper and
// memory.Finder.
type Notes struct {
	tables.Notes
	db *DB
}

var (
	_ memory.Store   = Notes{}
	_ memory.Sweeper = Notes{}
)

// Notes returns the store of the working memory in the database.
func (db *DB) Notes() Notes { return Notes{tables.NewNotes(shared{db}), db} }

var (
	qAddMemory = prepared(`INSERT INTO memory
	(owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value, words, words_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + wordsOf + `$12, 'UTF8'), ' ')), $9) RETURNING id`)
	qSetMemory = prepared(`UPDATE memory SET
	category = $1, tags = $2, ref = $3, size = $4, created_at = $5, updated_at = $6, expires_at = $7, value = $8,
	words = ` + wordsOf + `$9, 'UTF8'), ' ')), words_at = $6 WHERE id = $10`)
)

// Put implements memory.Store.
func (n Notes) Put(ctx context.Context, note *memory.Note, room memory.Quota) (dropped int, err error) {
	mine, err := tables.NewStoredNote(note)
	if err == nil {
		dropped, err = writeValue(ctx, n.db, func(w *writer) (int, error) {
			return tables.PutNote(w.conn, w.conn, mine, room)
		})
	}
	if err != nil {
		return 0, fmt.Errorf("put note: %w", err)
	}
	return dropped, nil
}

// AddNote implements tables.NoteWriter.
func (c *conn) AddNote(n *tables.StoredNote) (int64, error) {
	s := c.bind(qAddMemory, append(append([]any{n.Owner, n.Key, n.Namespace}, n.Values()...), n.Words)...)
	return s.only()
}

// SetNote implements tables.NoteWriter.
func (c *conn) SetNote(n *tables.StoredNote, id int64) error {
	s := c.bind(qSetMemory, append(n.Values(), n.Words, id)...)
	return s.done()
}
