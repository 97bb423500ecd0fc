package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/task"
)

// Limits are the limits of the working memory. A zero field means its default.
type Limits struct {
	// TTL is the default lifetime of a note; zero means 5 minutes.
	TTL time.Duration
	// MaxTTL is the maximum lifetime of a note; zero means 30 days.
	MaxTTL time.Duration
	// Entries is the maximum number of notes in a namespace; zero means 50.
	Entries int
	// Namespaces overrides Entries for namespaces with the given prefixes; the longest prefix
	// counts.
	Namespaces map[string]int
	// OwnerEntries is the maximum number of notes of an owner; zero means 10,000.
	OwnerEntries int
	// Value is the maximum length of a text in bytes; zero means 64 KiB.
	Value int
}

// ClosedSessions is the namespace of the notes that mark ended sessions. Its default limit is
// 1,000 notes.
const ClosedSessions = "sessions/closed"

const maxClosed = 1000

func (l Limits) withDefaults() Limits {
	spaces := map[string]int{ClosedSessions: maxClosed}
	maps.Copy(spaces, l.Namespaces)
	l.Namespaces = spaces
	l.TTL = cmp.Or(l.TTL, 5*time.Minute)
	l.MaxTTL = cmp.Or(l.MaxTTL, 30*24*time.Hour)
	l.Entries = cmp.Or(l.Entries, 50)
	l.OwnerEntries = cmp.Or(l.OwnerEntries, 10_000)
	l.Value = cmp.Or(l.Value, 64<<10)
	return l
}

// entries returns the maximum number of notes in a namespace.
func (l *Limits) entries(namespace string) int {
	best, room := -1, l.Entries
	for prefix, n := range l.Namespaces {
		if strings.HasPrefix(namespace+"/", strings.TrimSuffix(prefix, "/")+"/") && len(prefix) > best {
			best, room = len(prefix), n
		}
	}
	return room
}

// Limits of notes and of results.
const (
	maxCategory = 64
	maxTags     = 16
	maxTag      = 64
	// MaxList is the maximum number of notes in a list.
	MaxList = 500
	// MaxHits is the maximum number of hits of a search.
	MaxHits = 20
	// Preview is the maximum length of a preview in characters.
	Preview = 120
	// Indexed is the number of characters of a note that a search covers.
	Indexed = 4096
)

// Notes is the working memory. The zero Notes keeps everything in memory. Its fields must not
// change after the first call. It is safe for concurrent use.
type Notes struct {
	// Store stores the notes. If nil, they are kept in memory.
	Store Store
	// Limits are the limits. The zero Limits are the defaults.
	Limits Limits
	// Fetch returns the whole text of a note with a Ref, or ErrNotFound if it no longer exists.
	// If nil, Get returns the stored beginning.
	Fetch func(ctx context.Context, n *Note) (string, error)

	once        sync.Once
	own         MemNotes
	subscribers subscribers
}

// Entry is a note with a preview in place of its text.
type Entry struct {
	Key, Category string
	Tags          []string
	// Preview is the beginning of the text, on one line.
	Preview string
	// Size is the length of the whole text in bytes.
	Size                            int64
	CreatedAt, UpdatedAt, ExpiresAt time.Time
}

// Set holds the arguments of Notes.Set.
type Set struct {
	Owner task.Owner
	Key   string
	Value string
	// Ref locates the whole text, of which Value is the beginning and Size the length. Only the
	// hub itself sets it.
	Ref      string
	Size     int64
	Category string
	Tags     []string
	// TTL is the lifetime of the note; zero means Limits.TTL.
	TTL time.Duration
}

func (n *Notes) store() Store {
	if n.Store == nil {
		return &n.own
	}
	return n.Store
}

func (n *Notes) limits() *Limits {
	n.once.Do(func() { n.Limits = n.Limits.withDefaults() })
	return &n.Limits
}

// MaxValue returns the maximum length of the text of a note in bytes.
func (n *Notes) MaxValue() int { return n.limits().Value }

// Set stores a note in place of the one with its key, and returns it. The error wraps ErrKey,
// ErrInvalid, ErrTooLarge or task.ErrUnavailable.
func (n *Notes) Set(ctx context.Context, s *Set) (Note, error) {
	limits := n.limits()
	if err := s.check(limits); err != nil {
		return Note{}, fmt.Errorf("set note: %w", err)
	}
	now := millis(time.Now())
	note := Note{
		Owner: s.Owner, Key: s.Key, Value: s.Value, Ref: s.Ref, Size: s.Size, Category: s.Category, Tags: s.Tags,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(cmp.Or(s.TTL, limits.TTL)),
	}
	if s.Ref == "" {
		note.Size = int64(len(s.Value))
	}
	space := Namespace(s.Key)
	if _, err := n.store().Put(ctx, &note, Quota{limits.entries(space), limits.OwnerEntries}); err != nil {
		return Note{}, fmt.Errorf("set note %s: %w", s.Key, err)
	}
	n.subscribers.notify(s.Owner, s.Key)
	return note, nil
}

// check returns the first error in a note.
func (s *Set) check(l *Limits) error {
	if err := CheckKey(s.Key); err != nil {
		return err
	}
	if err := checkName("category", s.Category, maxCategory); err != nil {
		return err
	}
	if len(s.Tags) > maxTags {
		return fmt.Errorf("%w: %d tags; the maximum is %d", ErrInvalid, len(s.Tags), maxTags)
	}
	for _, t := range s.Tags {
		if err := checkName("tag", t, maxTag); err != nil || t == "" {
			return errors.Join(err, fmt.Errorf("%w: a tag is 1 to %d bytes of text", ErrInvalid, maxTag))
		}
	}
	switch {
	case len(s.Value) > l.Value:
		return fmt.Errorf("%w: it has %d bytes; the maximum is %d: shorten it, or split it into several notes", ErrTooLarge, len(s.Value), l.Value)
	case !utf8.ValidString(s.Value):
		return fmt.Errorf("%w: the value is not text in UTF-8", ErrInvalid)
	case s.TTL < 0 || s.TTL > 0 && s.TTL < time.Millisecond:
		return fmt.Errorf("%w: a note cannot end before it begins", ErrInvalid)
	case s.TTL > l.MaxTTL:
		return fmt.Errorf("%w: the maximum lifetime of a note is %v", ErrInvalid, l.MaxTTL)
	}
	return nil
}

func checkName(what, name string, most int) error {
	if len(name) > most || !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("%w: a %s is printable text of at most %d bytes", ErrInvalid, what, most)
	}
	return nil
}

// Get returns a note with its whole text. The error wraps ErrNotFound, ErrKey or
// task.ErrUnavailable.
func (n *Notes) Get(ctx context.Context, owner task.Owner, key string) (Note, error) {
	if err := CheckKey(key); err != nil {
		return Note{}, fmt.Errorf("get note: %w", err)
	}
	found, err := n.store().Read(ctx, &Range{Owner: owner, Key: key, At: time.Now(), Limit: 1})
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Note{}, fmt.Errorf("get note %s: %w", key, err)
	}
	note := found[0]
	if note.Ref != "" && n.Fetch != nil {
		if note.Value, err = n.Fetch(ctx, &note); err != nil {
			return Note{}, fmt.Errorf("get note %s: %w", key, err)
		}
	}
	return note, nil
}

// Delete deletes a note. The error wraps ErrNotFound if the note does not exist.
func (n *Notes) Delete(ctx context.Context, owner task.Owner, key string) error {
	if err := CheckKey(key); err != nil {
		return fmt.Errorf("delete note: %w", err)
	}
	dropped, err := n.store().Drop(ctx, &Range{Owner: owner, Key: key, At: time.Now(), Limit: 1})
	if err == nil && dropped == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("delete note %s: %w", key, err)
	}
	return nil
}

// DeleteAll deletes the notes whose keys begin with prefix, and returns their number.
func (n *Notes) DeleteAll(ctx context.Context, owner task.Owner, prefix string) (int, error) {
	err := CheckPrefix(prefix)
	total := 0
	for more := true; more && err == nil; {
		var dropped int
		dropped, err = n.store().Drop(ctx, &Range{Owner: owner, Prefix: prefix, At: time.Now(), Limit: sliceNotes})
		total += dropped
		more = dropped == sliceNotes
	}
	if err != nil {
		return total, fmt.Errorf("delete notes: %w", err)
	}
	return total, nil
}

// List is a query for the notes with a prefix.
type List struct {
	Owner task.Owner
	// Prefix is a prefix of the keys, After the key behind which the list begins, and Category
	// a prefix of the categories.
	Prefix, After, Category string
	// Limit is the maximum number of notes; zero, and anything above MaxList, means MaxList.
	Limit int
}

// List returns notes sorted by the bytes of their keys, and whether there are more.
func (n *Notes) List(ctx context.Context, q *List) (entries []Entry, more bool, err error) {
	if err := CheckPrefix(q.Prefix); err != nil {
		return nil, false, fmt.Errorf("list notes: %w", err)
	}
	limit := MaxList
	if q.Limit > 0 {
		limit = min(q.Limit, MaxList)
	}
	found, err := n.store().Read(ctx, &Range{
		Owner: q.Owner, Prefix: q.Prefix, After: q.After, Category: q.Category, At: time.Now(),
		Limit: limit + 1, Clip: Indexed, // more than a preview, because of leading white space
	})
	if err != nil {
		return nil, false, fmt.Errorf("list notes: %w", err)
	}
	more = len(found) > limit
	entries = make([]Entry, 0, len(found))
	for i := range found[:min(len(found), limit)] {
		entries = append(entries, entryOf(&found[i]))
	}
	return entries, more, nil
}

func entryOf(n *Note) Entry {
	return Entry{
		Key: n.Key, Category: n.Category, Tags: n.Tags, Preview: Clip(n.Value, Preview), Size: n.Size,
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, ExpiresAt: n.ExpiresAt,
	}
}

// Clip returns a text on one line with at most the given number of characters. A text that was
// cut ends with an ellipsis, which is included in the number.
func Clip(text string, most int) string {
	var b strings.Builder
	n, last, gap := 0, 0, false
	for _, r := range text {
		if hidden(r) || r == ' ' {
			gap = b.Len() > 0
			continue
		}
		for _, r := range [2]rune{' ', r} {
			if r == ' ' && !gap {
				continue
			}
			if n == most {
				return b.String()[:last] + "…"
			}
			if n == most-1 {
				last = b.Len()
			}
			b.WriteRune(r)
			n++
			gap = false
		}
	}
	return b.String()
}

// Sweeps run in slices, so that they do not block other calls for long.
const (
	sweepEvery = time.Minute
	sliceNotes = 256
)

// Run deletes expired notes until ctx ends. Then watchers get ErrEnded.
func (n *Notes) Run(ctx context.Context) {
	defer n.subscribers.end()
	sweep(ctx, n.store(), 0)
	<-ctx.Done() // not every store is a Sweeper
}

// sweep periodically deletes data older than age from a store. Errors are ignored, because
// writers to the store get them too; the next sweep tries again.
func sweep(ctx context.Context, store any, age time.Duration) {
	s, ok := store.(Sweeper)
	if !ok {
		return
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		for n := sliceNotes; n == sliceNotes && ctx.Err() == nil; {
			var err error
			if n, err = s.Sweep(ctx, time.Now().Add(-age), sliceNotes); err != nil {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
