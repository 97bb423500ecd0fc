package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/task"
)

// Notes is the store of the working memory in a database.
type Notes struct{ db *DB }

var (
	_ memory.Store   = Notes{}
	_ memory.Sweeper = Notes{}
)

// Notes returns the store of the working memory in the database.
func (db *DB) Notes() Notes { return Notes{db} }

var (
	qOldMemory = prepared("SELECT id, created_at, expires_at FROM memory WHERE owner = $1 AND key = $2")
	qAddMemory = prepared(`INSERT INTO memory
	(owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value, words, words_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + wordsOf + `$12, 'UTF8'), ' ')), $9) RETURNING id`)
	qSetMemory = prepared(`UPDATE memory SET
	category = $1, tags = $2, ref = $3, size = $4, created_at = $5, updated_at = $6, expires_at = $7, value = $8,
	words = ` + wordsOf + `$9, 'UTF8'), ' ')), words_at = $6 WHERE id = $10`)

	qCountSpace = prepared("SELECT count(*) FROM memory WHERE owner = $1 AND namespace = $2")
	qCountOwner = prepared("SELECT count(*) FROM memory WHERE owner = $1")
	qEaseSpace  = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory
	WHERE owner = $1 AND namespace = $2 AND id <> $3 ORDER BY expires_at, key LIMIT $4)`)
	qEaseOwner = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory
	WHERE owner = $1 AND id <> $2 ORDER BY expires_at, key LIMIT $3)`)

	// These statements read and delete a range; keys are compared byte by byte. A clip of zero
	// returns whole values; otherwise it is in bytes.
	qReadMemory  = prepared("SELECT " + noteColumns + " FROM memory " + whereMemory)
	qDropMemory  = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory ` + whereMemory + ")")
	qSweepMemory = prepared(`DELETE FROM memory WHERE id IN
	(SELECT id FROM memory WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`)
)

const (
	noteColumns = `key, CASE $8 WHEN 0 THEN value ELSE substr(value, 1, $8::int) END, ref, size,
	category, tags, created_at, updated_at, expires_at`
	inRange = `owner = $1 AND key >= $2 AND key <= $3 AND key > $4
	AND substr(category, 1, octet_length($5)) = $5 AND expires_at > $6`
	whereMemory = "WHERE " + inRange + " ORDER BY key LIMIT $7"
)

// Put implements memory.Store.
func (n Notes) Put(ctx context.Context, note *memory.Note, room memory.Quota) (int, error) {
	tags, err := json.Marshal(note.Tags)
	if err != nil {
		return 0, fmt.Errorf("put note: %w", err)
	}
	mine := stored{Note: *note, tags: string(tags), words: sqlstore.NoteWords(note)} // the writer may run after the caller has returned
	dropped, err := writeValue(ctx, n.db, func(w *writer) (int, error) { return w.putNote(&mine, room) })
	if err != nil {
		return 0, fmt.Errorf("put note: %w", err)
	}
	return dropped, nil
}

// stored is a note in the form of the database.
type stored struct {
	memory.Note
	tags, words string
}

// putNote stores a note, and deletes others if there are too many.
func (w *writer) putNote(n *stored, room memory.Quota) (dropped int, err error) {
	created := n.CreatedAt
	s := w.conn.start(qOldMemory)
	s.text(string(n.Owner))
	s.text(n.Key)
	if s.next() {
		id := s.getInt()
		was, ends := s.getTime(), s.getTime()
		if s.err != nil {
			return 0, s.err
		}
		if ends.After(n.UpdatedAt) {
			created = was
		}
		return 0, w.setNote(n, id, created)
	}
	if s.err != nil {
		return 0, s.err
	}
	space := memory.Namespace(n.Key)
	s = w.conn.start(qAddMemory)
	s.text(string(n.Owner))
	s.text(n.Key)
	s.text(space)
	bindNote(&s, n, created)
	id, err := s.only()
	if err != nil {
		return 0, err
	}
	return w.makeRoom(n.Owner, space, id, room)
}

func (w *writer) setNote(n *stored, id int64, created time.Time) error {
	s := w.conn.start(qSetMemory)
	bindNote(&s, n, created)
	s.int(id)
	return s.done()
}

// bindNote binds the fields of a note that may change.
func bindNote(s *stmt, n *stored, created time.Time) {
	s.text(n.Category)
	s.text(n.tags)
	s.text(n.Ref)
	s.int(n.Size)
	s.time(created)
	s.time(n.UpdatedAt)
	s.time(n.ExpiresAt)
	s.blob(append(make([]byte, 0, len(n.Value)), n.Value...))
	s.text(n.words)
}

// makeRoom deletes notes other than the one with the id until the limits are met.
func (w *writer) makeRoom(owner task.Owner, space string, id int64, room memory.Quota) (int, error) {
	inSpace, err := w.ease(room.Namespace, qCountSpace, qEaseSpace, id, string(owner), space)
	if err != nil {
		return 0, err
	}
	ofOwner, err := w.ease(room.Owner, qCountOwner, qEaseOwner, id, string(owner))
	return inSpace + ofOwner, err
}

// ease deletes the notes of a namespace or owner that exceed its limit.
func (w *writer) ease(room int, count, drop query, id int64, where ...string) (int, error) {
	if room <= 0 {
		return 0, nil
	}
	bind := func(q query) stmt {
		s := w.conn.start(q)
		for _, text := range where {
			s.text(text)
		}
		return s
	}
	s := bind(count)
	n, err := s.only()
	if over := n - int64(room); err == nil && over > 0 {
		s = bind(drop)
		s.int(id)
		s.int(over)
		return s.changed()
	}
	return 0, err
}

// bindRange binds the values of inRange and the limit.
func bindRange(s *stmt, r *memory.Range) {
	from, to := r.Prefix, r.Prefix+"\U0010ffff" // a bound that no key has
	if r.Key != "" {
		from, to = r.Key, r.Key
		if !(len(r.Key) >= len(r.Prefix) && r.Key[:len(r.Prefix)] == r.Prefix) {
			from, to = "\U0010ffff", ""
		}
	}
	s.text(string(r.Owner))
	s.text(from)
	s.text(to)
	s.text(r.After)
	s.text(r.Category)
	s.time(r.At)
	s.int(int64(r.Limit))
}

// bindRead binds the values of inRange, the limit, and the value of noteColumns.
func bindRead(s *stmt, r *memory.Range) {
	bindRange(s, r)
	s.int(clipBytes(r.Clip))
}

// clipBytes returns the number of bytes that hold a number of characters.
func clipBytes(clip int) int64 { return int64(min(clip, math.MaxInt32/utf8.UTFMax)) * utf8.UTFMax }

// getNote reads noteColumns.
func getNote(s *stmt, r *memory.Range) (memory.Note, error) {
	note := memory.Note{
		Owner: r.Owner, Key: s.getText(), Value: memory.Cut(string(s.getBlob()), r.Clip), Ref: s.getText(), Size: s.getInt(), Category: s.getText(),
	}
	if err := json.Unmarshal([]byte(s.getText()), &note.Tags); err != nil {
		return note, fmt.Errorf("tags of %s: %w: %w", note.Key, task.ErrCorrupt, err)
	}
	note.CreatedAt, note.UpdatedAt, note.ExpiresAt = s.getTime(), s.getTime(), s.getTime()
	return note, nil
}

// Read implements memory.Store.
func (n Notes) Read(ctx context.Context, r *memory.Range) ([]memory.Note, error) {
	if r.Limit <= 0 {
		return nil, fmt.Errorf("read notes: limit %d is not positive", r.Limit)
	}
	var found []memory.Note
	err := n.db.read(ctx, func(c *conn) error {
		s := c.start(qReadMemory)
		bindRead(&s, r)
		for s.next() {
			note, err := getNote(&s, r)
			if err != nil {
				return err
			}
			found = append(found, note)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return found, nil
}

// Drop implements memory.Store.
func (n Notes) Drop(ctx context.Context, r *memory.Range) (int, error) {
	if r.Limit <= 0 {
		return 0, fmt.Errorf("drop notes: limit %d is not positive", r.Limit)
	}
	mine := *r
	dropped, err := writeValue(ctx, n.db, func(w *writer) (int, error) {
		s := w.conn.start(qDropMemory)
		bindRange(&s, &mine)
		return s.changed()
	})
	if err != nil {
		return 0, fmt.Errorf("drop notes: %w", err)
	}
	return dropped, nil
}

// Sweep implements memory.Sweeper.
func (n Notes) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	swept, err := n.db.sweepRows(ctx, qSweepMemory, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep notes: %w", err)
	}
	return swept, nil
}

// sweepRows deletes up to limit rows that ended before the given time.
func (db *DB) sweepRows(ctx context.Context, q query, before time.Time, limit int) (int, error) {
	return writeValue(ctx, db, func(w *writer) (int, error) {
		s := w.conn.start(q)
		s.time(before)
		s.int(int64(limit))
		return s.changed()
	})
}
