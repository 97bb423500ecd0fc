package sqlitestore

import (
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

type notesTable = tables.Notes

// Notes is the store of the working memory in a file. It implements memory.Store, memory.Sweeper and
// memory.Finder.
type Notes struct{ notesTable }

// Notes returns the store of the working memory in the file.
func (db *DB) Notes() Notes { return Notes{tables.NewNotes(shared{db})} }

var (
	qAddMemory = prepared(`INSERT INTO memory
	(owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	qSetMemory = prepared(`UPDATE memory SET
	category = ?, tags = ?, ref = ?, size = ?, created_at = ?, updated_at = ?, expires_at = ?, value = ? WHERE id = ?`)
)

// AddNote implements tables.NoteConn.
func (x noteConn) AddNote(n *tables.StoredNote) (int64, error) {
	s := x.bind(qAddMemory, append([]any{n.Owner, n.Key, n.Namespace}, n.Values()...)...)
	if err := s.done(); err != nil {
		return 0, err
	}
	id := x.raw.LastInsertRowID()
	return id, x.indexNote(id, n.Words)
}

// SetNote implements tables.NoteConn.
func (x noteConn) SetNote(n *tables.StoredNote, id int64) error {
	s := x.bind(qSetMemory, append(n.Values(), id)...)
	if err := s.done(); err != nil {
		return err
	}
	return x.indexNote(id, n.Words)
}
