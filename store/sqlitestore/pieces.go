package sqlitestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

// A large row of a log is written in pieces, each in a commit of its own, before the change that it
// belongs to: small writes have the writer in between. The row itself is a reference to its pieces.
const (
	// largeRow is the size from which a row is written in pieces.
	largeRow = 1 << 20
	// pieceSize is the largest size of a piece. Its commit takes some milliseconds.
	pieceSize = 512 << 10
)

// referring is the first byte of a row that is a reference. No format of entries has it.
const referring = 0xff

// pieces is a sequence of pieces with consecutive ids.
type pieces struct {
	first int64
	n     int
	size  int // of all of them, in bytes
}

// appendReference appends the row that refers to p.
func (p pieces) appendReference(b []byte) []byte {
	b = binary.AppendUvarint(append(b, referring), uint64(p.first))
	b = binary.AppendUvarint(b, uint64(p.n))
	return binary.AppendUvarint(b, uint64(p.size))
}

// referenceOf decodes a row that is a reference.
func referenceOf(row []byte) (p pieces, err error) {
	r := varint.Reader{Left: row[1:]}
	p = pieces{first: int64(r.Uint()), n: int(r.Uint()), size: int(r.Uint())}
	if !r.Done() || p.first < 0 || p.n < 0 || p.size < 0 || p.size > sqlstore.MaxAppend {
		return p, fmt.Errorf("reference to pieces: %w", task.ErrCorrupt)
	}
	return p, nil
}

var (
	qAddStaged  = prepared("INSERT INTO staged VALUES (?, ?)")
	qDropStaged = prepared("DELETE FROM staged WHERE first = ? RETURNING n")
	qAllStaged  = prepared("SELECT first FROM staged")
	qNextPiece  = prepared(`SELECT 1 + max(coalesce((SELECT max(id) FROM pieces), 0),
		coalesce((SELECT max(first + n) FROM staged), 0))`)
	qAddPiece     = prepared("INSERT INTO pieces VALUES (?, ?, ?)")
	qPieces       = prepared("SELECT data FROM pieces WHERE id >= ? AND id < ? ORDER BY id")
	qDropPieces   = prepared("DELETE FROM pieces WHERE id >= ? AND id < ?")
	qHasPieces    = prepared("SELECT EXISTS (SELECT 1 FROM pieces WHERE place >= ? AND place <= ?)")
	qDeletePieces = prepared("DELETE FROM pieces WHERE place >= ? AND place <= ?")
	qDropPlaces   = prepared(`DELETE FROM pieces WHERE id IN
		(SELECT id FROM pieces WHERE place >= ?1 AND place <= ?2 LIMIT 0 + ?3)`)
)

// whole returns the content of a row of a log.
func (c *conn) whole(row []byte) ([]byte, error) {
	if len(row) == 0 || row[0] != referring {
		return row, nil
	}
	p, err := referenceOf(row)
	if err != nil {
		return nil, err
	}
	s := c.start(qPieces)
	s.int(p.first)
	s.int(p.first + int64(p.n))
	all := make([]byte, 0, p.size)
	for s.next() {
		all = s.appendBlob(all)
	}
	if s.err == nil && len(all) != p.size {
		s.err = fmt.Errorf("pieces from %d have %d bytes of %d: %w", p.first, len(all), p.size, task.ErrCorrupt)
	}
	return all, s.err
}

// errUnstaged is the answer to a change whose pieces were deleted, because its caller has left.
var errUnstaged = fmt.Errorf("%w: the pieces of the change were deleted", task.ErrUnavailable)

// pieceBytes returns the size of the rows of a change that are in pieces.
func pieceBytes(ch *change) int {
	n := 0
	for _, p := range ch.in {
		n += p.size
	}
	return n
}

// stage writes the large rows of a change in pieces. After an error, the caller must not use the
// change again.
func (db *DB) stage(ctx context.Context, ch *change) error {
	n := 0
	for from, i := 0, 0; i < len(ch.Rows); i++ {
		if size := ch.Rows[i].End - from; size >= largeRow {
			if n == 0 {
				ch.in = make([]pieces, len(ch.Rows))
			}
			ch.in[i] = pieces{n: (size + pieceSize - 1) / pieceSize, size: size}
			n += ch.in[i].n
		}
		from = ch.Rows[i].End
	}
	if n == 0 {
		return nil
	}
	key, begun := ch.Next.Key, new(staging)
	err := db.write(ctx, func(w *writer) (err error) {
		*begun, err = w.beginStaging(key, n)
		return err
	})
	if err != nil {
		db.unstage(begun, 0)
		return err
	}
	ch.staged, ch.Next.Key = begun.first, begun.key
	if err = db.stageRows(ctx, ch); err != nil {
		db.unstage(begun, pieceSize)
	}
	return err
}

func (db *DB) stageRows(ctx context.Context, ch *change) error {
	id, from := ch.staged, 0
	for i, r := range ch.Rows {
		place := sqlstore.Place(ch.Next.Key, r.First)
		if in := &ch.in[i]; in.n > 0 {
			in.first = id
			for part := range slices.Chunk(ch.Data[from:r.End], pieceSize) {
				if err := db.addPiece(ctx, ch.staged, piece{id, place, part}); err != nil {
					return err
				}
				id++
			}
		}
		from = r.End
	}
	return nil
}

// piece is a row of the table of pieces.
type piece struct {
	id, place int64
	data      []byte
}

func (db *DB) addPiece(ctx context.Context, staged int64, p piece) error {
	err := db.writeLarge(ctx, len(p.data), func(w *writer) error {
		if !w.staged[staged] {
			return nil // the caller has left
		}
		s := w.conn.start(qAddPiece)
		s.int(p.id)
		s.int(p.place)
		s.blob(p.data)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("write piece %d: %w", p.id, err)
	}
	return nil
}

// unstage lets the writer delete the pieces of a change that was not made, if there are any. size is
// that of the last request, because the job must follow it. If the writer fails, Sweep deletes them.
func (db *DB) unstage(begun *staging, size int) {
	r := &request{size: size, done: make(chan error, 1), job: func(w *writer) error {
		delete(w.staged, begun.first)
		return w.dropStaged(begun.first)
	}}
	_ = db.writer.queue.Send(r) // only a store that is closed or has failed refuses it
}

// staging is the beginning of a change in pieces: the id of the first one, and the key of its task.
type staging struct {
	first int64
	key   task.Key
}

// beginStaging reserves the ids of n pieces, and a key if that of the task is zero.
func (w *writer) beginStaging(key task.Key, n int) (staging, error) {
	if key == 0 {
		next, err := w.peekKey()
		if err != nil {
			return staging{}, err
		}
		key = task.Key(next)
		w.nextKey++
	}
	if w.nextPiece == 0 {
		s := w.conn.start(qNextPiece)
		next, err := s.only()
		if err != nil {
			return staging{}, fmt.Errorf("number pieces: %w", err)
		}
		w.nextPiece = next
	}
	first := w.nextPiece
	w.nextPiece += int64(n)
	s := w.conn.start(qAddStaged)
	s.int(first)
	s.int(int64(n))
	w.staged[first] = true
	return staging{first, key}, s.done()
}

// endStaging makes the pieces part of the log.
func (w *writer) endStaging(first int64) error {
	delete(w.staged, first)
	s := w.conn.start(qDropStaged)
	s.int(first)
	return s.done()
}

// dropStaged deletes pieces that no row refers to. They may be deleted already, or be part of a log.
func (w *writer) dropStaged(first int64) error {
	s := w.conn.start(qDropStaged)
	s.int(first)
	n := int64(0)
	for s.next() {
		n = s.Int()
	}
	if s.err != nil || n == 0 {
		return s.err
	}
	s = w.conn.start(qDropPieces)
	s.int(first)
	s.int(first + n)
	return s.done()
}

// deleteAbandoned deletes the pieces of one change that was never completed: its process was killed,
// or its commit failed.
func (w *writer) deleteAbandoned() (more bool, err error) {
	s := w.conn.start(qAllStaged)
	for s.next() {
		first := s.Int()
		if !w.staged[first] {
			s.close()
			return true, w.dropStaged(first)
		}
	}
	return false, s.err
}

// A head whose status message is large refers to the entry with the same content.

// headRefers is the first byte of the rest of such a head, before the version of the entry and the
// rest without the message. No format of package sqlstore has it.
const headRefers = 0xfe

// appendHead appends the rest of the head after a change.
func appendHead(b []byte, c *task.Change) []byte {
	if len(c.Next.StatusMessage) >= largeRow {
		for i := range slices.Backward(c.Entries) {
			e := &c.Entries[i]
			if e.Kind == task.Status && string(e.Body) == string(c.Next.StatusMessage) {
				h := c.Next
				h.StatusMessage = nil
				from := len(b)
				b = binary.AppendUvarint(append(sqlstore.BeginChecked(b), headRefers), uint64(e.Version))
				b = sqlstore.AppendHead(b, &h)
				sqlstore.EndChecked(b[from:])
				return b
			}
		}
	}
	return sqlstore.AppendHead(b, &c.Next)
}

// decodeHead decodes the rest of a head. It returns the version of the entry with the status message
// if that is not part of it, and zero otherwise.
func decodeHead(rest []byte, h *task.Head) (message int64, err error) {
	rest, changed := sqlstore.Content(rest)
	if len(rest) > 0 && rest[0] == headRefers {
		r := varint.Reader{Left: rest[1:]}
		message = int64(r.Uint())
		if rest = r.Left; r.Bad || message <= 0 {
			return 0, fmt.Errorf("head: %w", task.ErrCorrupt)
		}
	}
	if err := sqlstore.DecodeHead(rest, h); err != nil {
		return message, err
	}
	return message, changed
}

var qEntryRow = prepared(`SELECT data FROM entries WHERE place =
	(SELECT max(place) FROM entries WHERE place >= ? AND place <= ?)`)

// body returns the body of an entry.
func (c *conn) body(key task.Key, version int64) ([]byte, error) {
	s := c.start(qEntryRow)
	s.int(sqlstore.Place(key, 1))
	s.int(sqlstore.Place(key, version))
	var row []byte
	for s.next() {
		row = s.Blob()
	}
	if s.err != nil {
		return nil, s.err
	}
	row, err := c.whole(row)
	if err != nil {
		return nil, err
	}
	es, err := sqlstore.DecodeEntries(row)
	if err != nil {
		return nil, err
	}
	for i := range es {
		if es[i].Version == version {
			return es[i].Body, nil
		}
	}
	return nil, fmt.Errorf("entry %d of task %d is missing: %w", version, key, task.ErrCorrupt)
}

// wholeRest returns the rest of a head with its status message.
func (c *conn) wholeRest(key task.Key, rest []byte) ([]byte, error) {
	if content, _ := sqlstore.Content(rest); len(content) == 0 || content[0] != headRefers {
		return rest, nil // copied unchanged, even if it is damaged
	}
	var h task.Head
	message, err := decodeHead(rest, &h)
	if err == nil {
		h.StatusMessage, err = c.body(key, message)
	}
	return sqlstore.AppendHead(nil, &h), err
}
