package sqlitestore

import (
	"zombiezen.com/go/sqlite"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// id binds an id that callers or the hub have chosen: the bytes of a UUID, or else text.
func (s *stmt) id(v string) {
	b, ok := sqlstore.PackUUID(v)
	if !ok {
		s.text(v)
		return
	}
	s.blob(b[:])
}

// ID reads an id that id has bound.
func (s *stmt) ID() string {
	if s.raw.ColumnType(s.at+1) != sqlite.TypeBlob {
		return s.Text()
	}
	s.at++
	var b [16]byte
	s.raw.ColumnBytes(s.at, b[:])
	return sqlstore.UnpackUUID(&b)
}

// anyID binds an id for package tables.
func (s *stmt) anyID(v tables.ID) {
	if v.Text {
		s.text(v.Value)
		return
	}
	s.id(v.Value)
}
