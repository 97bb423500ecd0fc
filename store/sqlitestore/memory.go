package sqlitestore

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

type notesTable = tables.Notes

// Notes is the store of the working memory in a file. It implements memory.Store, memory.Sweeper and
// memory.Finder.
type Notes struct {
	notesTable
	db *DB
}

var (
	_ memory.Store   = Notes{}
	_ memory.Sweeper = Notes{}
)

// Notes returns the store of the working memory in the file.
func (db *DB) Notes() Notes { return Notes{tables.NewNotes(shared{db}), db} }

var (
	qAddMemory = prepared(`INSERT INTO memory
	(owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	qSetMemory = prepared(`UPDATE memory SET
	category = ?, tags = ?, ref = ?, size = ?, created_at = ?, updated_at = ?, expires_at = ?, value = ? WHERE id = ?`)
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
	s := c.bind(qAddMemory, append([]any{n.Owner, n.Key, n.Namespace}, n.Values()...)...)
	if err := s.done(); err != nil {
		return 0, err
	}
	id := c.raw.LastInsertRowID()
	return id, c.indexNote(id, n.Words)
}

// SetNote implements tables.NoteWriter.
func (c *conn) SetNote(n *tables.StoredNote, id int64) error {
	s := c.bind(qSetMemory, append(n.Values(), id)...)
	if err := s.done(); err != nil {
		return err
	}
	return c.indexNote(id, n.Words)
}
