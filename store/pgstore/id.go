package pgstore

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// idUUID and idText are the first bytes of stored ids. The empty id is stored as no bytes.
const idUUID, idText = 0, 't'

// id binds an id that callers or the hub have chosen.
func (s *stmt) id(v string) { s.blob(packedID(v)) }

// packedID returns the stored form of an id: the bytes of a UUID, or else its text.
func packedID(v string) []byte {
	if v == "" {
		return []byte{}
	}
	b, ok := sqlstore.PackUUID(v)
	if !ok {
		return append([]byte{idText}, v...)
	}
	return append([]byte{idUUID}, b[:]...)
}

// ID reads an id that id has bound.
func (s *stmt) ID() string {
	b := s.Blob()
	switch {
	case len(b) == 0:
		return ""
	case b[0] == idText:
		return string(b[1:])
	case len(b) == 1+16:
		return sqlstore.UnpackUUID((*[16]byte)(b[1:]))
	}
	if s.err == nil {
		s.err = fmt.Errorf("id: %w", task.ErrCorrupt)
	}
	return ""
}

// anyID binds an id for package tables.
func (s *stmt) anyID(v tables.ID) {
	if v.Text {
		s.blob(append([]byte{idText}, v.Value...))
		return
	}
	s.id(v.Value)
}
