package pgstore

import (
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// Notes returns the store of the working memory in the database.
func (db *DB) Notes() Notes { return tables.NewNotes(shared{db}) }

var (
	qAddMemory = prepared(`INSERT INTO memory
	(owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value, words, words_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + wordsOf + `$12, 'UTF8'), ' ')), $9) RETURNING id`)
	qSetMemory = prepared(`UPDATE memory SET
	category = $1, tags = $2, ref = $3, size = $4, created_at = $5, updated_at = $6, expires_at = $7, value = $8,
	words = ` + wordsOf + `$9, 'UTF8'), ' ')), words_at = $6 WHERE id = $10`)
)

// AddNote implements tables.NoteConn.
func (x noteConn) AddNote(n *tables.StoredNote) (int64, error) {
	s := x.bind(qAddMemory, append(append([]any{n.Owner, n.Key, n.Namespace}, n.Values()...), n.Words)...)
	return s.only()
}

// SetNote implements tables.NoteConn.
func (x noteConn) SetNote(n *tables.StoredNote, id int64) error {
	s := x.bind(qSetMemory, append(n.Values(), n.Words, id)...)
	return s.done()
}
