package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/task"
)

// Notes is the store of the working memory. See [NewNotes]. Each database indexes the words of notes in
// its own way.
type Notes struct{ db NoteDB }

var (
	_ memory.Store   = Notes{}
	_ memory.Sweeper = Notes{}
	_ memory.Finder  = Notes{}
)

// NewNotes returns the notes in db.
func NewNotes(db NoteDB) Notes { return Notes{db} }

// NoteDB is a database with an index of the words of notes.
type NoteDB interface {
	DB
	// Notes returns the notes with their index, as a connection sees them.
	Notes(c Conn) NoteConn
	// Index completes the index for the notes of an owner.
	Index(ctx context.Context, owner task.Owner) error
}

// NoteConn writes and searches notes and their words.
type NoteConn interface {
	// AddNote stores a new note and returns its row number.
	AddNote(n *StoredNote) (id int64, err error)
	// SetNote replaces the note with the row number.
	SetNote(n *StoredNote, id int64) error
	NoteIndex
}

// NoteIndex searches notes by their words.
type NoteIndex interface {
	// Longer returns words that begin with the given one and are longer, at most MaxLonger.
	Longer(begin string) ([]string, error)
	// Counts returns the number of notes that contain each of the words.
	Counts(words []string) ([]int, error)
	// Matching returns the rows of NoteColumns and the row number of the notes in a range that contain
	// word and, unless others is empty, one of others, the newest first.
	Matching(r *memory.Range, word string, others []string) iter.Seq2[Row, error]
}

// Columns and conditions of statements that read notes. [RangeValues] are their values.
const (
	NoteColumns = `key, CASE $8 WHEN 0 THEN value ELSE substr(value, 1, CAST($8 AS int)) END, ref, size,
	category, tags, created_at, updated_at, expires_at`
	InRange = `owner = $1 AND key >= $2 AND key <= $3 AND key > $4
	AND substr(category, 1, length($5)) = $5 AND expires_at > $6`
	whereMemory = "WHERE " + InRange + " ORDER BY key LIMIT $7"
)

var (
	qOldMemory  = prepared("SELECT id, created_at, expires_at FROM memory WHERE owner = $1 AND key = $2")
	qCountSpace = prepared("SELECT count(*) FROM memory WHERE owner = $1 AND namespace = $2")
	qCountOwner = prepared("SELECT count(*) FROM memory WHERE owner = $1")
	qEaseSpace  = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory
	WHERE owner = $1 AND namespace = $2 AND id <> $3 ORDER BY expires_at, key LIMIT $4)`)
	qEaseOwner = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory
	WHERE owner = $1 AND id <> $2 ORDER BY expires_at, key LIMIT $3)`)

	// These statements read and delete a range; keys are compared byte by byte. A clip of zero
	// returns whole values; otherwise it is in bytes.
	qReadMemory  = prepared("SELECT " + NoteColumns + " FROM memory " + whereMemory)
	qDropMemory  = prepared(`DELETE FROM memory WHERE id IN (SELECT id FROM memory ` + whereMemory + ")")
	qSweepMemory = prepared(`DELETE FROM memory WHERE id IN
	(SELECT id FROM memory WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`)
)

// StoredNote is a note in the form of the database.
type StoredNote struct {
	memory.Note
	// Namespace is that of the key.
	Namespace string
	// Words are those of the index, separated by spaces.
	Words string
	tags  string
}

// newStoredNote returns the form of a note. It does not refer to the note.
func newStoredNote(n *memory.Note) (*StoredNote, error) {
	tags, err := json.Marshal(n.Tags)
	if err != nil {
		return nil, err
	}
	return &StoredNote{Note: *n, Namespace: memory.Namespace(n.Key), Words: NoteWords(n), tags: string(tags)}, nil
}

// Values returns the values that may change: category, tags, ref, size, the times of creation, change
// and expiry, and the value.
func (n *StoredNote) Values() []any {
	return []any{n.Category, n.tags, n.Ref, n.Size, n.CreatedAt, n.UpdatedAt, n.ExpiresAt, bytesOf{&n.Value}}
}

// Put implements memory.Store.
func (n Notes) Put(ctx context.Context, note *memory.Note, room memory.Quota) (dropped int, err error) {
	mine, err := newStoredNote(note)
	if err == nil {
		dropped, err = resultOf(ctx, n.db.WriteAlone, func(c Conn) (int, error) { return putNote(c, n.db.Notes(c), mine, room) })
	}
	if err != nil {
		return 0, fmt.Errorf("put note: %w", err)
	}
	return dropped, nil
}

// putNote stores a note, and deletes others if there are too many. It returns their number.
func putNote(c Conn, to NoteConn, n *StoredNote, room memory.Quota) (dropped int, err error) {
	old, found, err := one(c, fields((*oldNote).fields), qOldMemory, n.Owner, n.Key)
	if err != nil {
		return 0, err
	}
	if found {
		mine := *n // the job may run again
		if old.ends.After(n.UpdatedAt) {
			mine.CreatedAt = old.created
		}
		return 0, to.SetNote(&mine, old.id)
	}
	id, err := to.AddNote(n)
	if err != nil {
		return 0, err
	}
	inSpace, err := ease(c, room.Namespace, qCountSpace, qEaseSpace, id, n.Owner, n.Namespace)
	if err != nil {
		return 0, err
	}
	ofOwner, err := ease(c, room.Owner, qCountOwner, qEaseOwner, id, n.Owner)
	return inSpace + ofOwner, err
}

// oldNote describes the note that another one replaces.
type oldNote struct {
	id            int64
	created, ends time.Time
}

func (o *oldNote) fields() []any { return []any{&o.id, &o.created, &o.ends} }

// ease deletes the notes of a namespace or owner that exceed its limit, except for the one with the id.
func ease(c Conn, room int, count, drop Query, id int64, where ...any) (int, error) {
	if room <= 0 {
		return 0, nil
	}
	n, _, err := one(c, scanInt, count, where...)
	if over := n - int64(room); err == nil && over > 0 {
		return c.Changed(drop, append(where, id, over)...)
	}
	return 0, err
}

// Find implements memory.Finder.
func (n Notes) Find(ctx context.Context, r *memory.Range, q memory.Query) (found *memory.Found, err error) {
	if r.Limit <= 0 {
		return nil, fmt.Errorf("find notes: limit %d must be positive", r.Limit)
	}
	if err := n.db.Index(ctx, r.Owner); err != nil {
		return nil, fmt.Errorf("find notes: add their words: %w", err)
	}
	err = n.db.View(ctx, func(c Conn) error {
		size, err := only(c, qCountOwner, r.Owner)
		if err == nil {
			found, err = findNotes(n.db.Notes(c), int(size), r, &q)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find notes: %w", err)
	}
	return found, nil
}

// RangeValues returns the values of InRange, the limit, and the value of NoteColumns.
func RangeValues(r *memory.Range) []any {
	from, to := r.Prefix, r.Prefix+"\U0010ffff" // a bound that no key has
	if r.Key != "" {
		from, to = r.Key, r.Key
		if !strings.HasPrefix(r.Key, r.Prefix) {
			from, to = "\U0010ffff", ""
		}
	}
	return []any{r.Owner, from, to, r.After, r.Category, r.At, r.Limit, ClipBytes(r.Clip)}
}

// ClipBytes returns the number of bytes that hold a number of characters.
func ClipBytes(clip int) int64 { return int64(min(clip, math.MaxInt32/utf8.UTFMax)) * utf8.UTFMax }

// scanMemory reads NoteColumns.
func scanMemory(row Row, r *memory.Range, n *memory.Note) error {
	var tags string
	n.Owner = r.Owner
	scan(row, &n.Key, bytesOf{&n.Value}, &n.Ref, &n.Size, &n.Category, &tags, &n.CreatedAt, &n.UpdatedAt, &n.ExpiresAt)
	n.Value = memory.Cut(n.Value, r.Clip)
	if err := json.Unmarshal([]byte(tags), &n.Tags); err != nil {
		return fmt.Errorf("tags of %s: %w: %w", n.Key, task.ErrCorrupt, err)
	}
	return nil
}

// Read implements memory.Store.
func (n Notes) Read(ctx context.Context, r *memory.Range) ([]memory.Note, error) {
	if r.Limit <= 0 {
		return nil, fmt.Errorf("read notes: limit %d must be positive", r.Limit)
	}
	scan := func(row Row, note *memory.Note) error { return scanMemory(row, r, note) }
	found, err := list(ctx, n.db, scan, qReadMemory, RangeValues(r)...)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return found, nil
}

// Drop implements memory.Store.
func (n Notes) Drop(ctx context.Context, r *memory.Range) (int, error) {
	if r.Limit <= 0 {
		return 0, fmt.Errorf("drop notes: limit %d must be positive", r.Limit)
	}
	dropped, err := change(ctx, n.db, qDropMemory, RangeValues(r)[:7]...)
	if err != nil {
		return 0, fmt.Errorf("drop notes: %w", err)
	}
	return dropped, nil
}

// Sweep implements memory.Sweeper.
func (n Notes) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	swept, err := change(ctx, n.db, qSweepMemory, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep notes: %w", err)
	}
	return swept, nil
}
