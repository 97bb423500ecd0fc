package trust

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrInFile is returned for a change of an entry from a trust file that the hub does not write.
var ErrInFile = errors.New("the file of trust decides about this one; change it there, or let the hub write it (trust.write)")

const (
	// flushEvery is the interval at which contacts are stored.
	flushEvery = 10 * time.Second
	// flushLast limits the time for storing the last contacts.
	flushLast = 5 * time.Second
	// maxEntries limits the number of entries created by contacts.
	maxEntries = 10_000
)

// Book holds the trust entries of callers and agents. The zero Book is empty and keeps
// everything in memory. Its fields must not change after the first call. A Book is safe for
// concurrent use.
type Book struct {
	// Store stores the entries. If nil, they are kept in memory only.
	Store Store
	// Write writes all entries to a trust file, after each change and when contacts are stored.
	// If nil, no file is written.
	Write func(entries []Entry) error
	// Logger receives errors of storing contacts. If nil, nothing is logged.
	Logger *slog.Logger

	writing sync.Mutex // serialises stored changes

	mu      sync.Mutex // guards the fields below; never held during calls of the store
	entries map[Who]*Entry
	file    map[Who]Entry // the entries of the trust file
	fresh   map[Who]bool  // entries with contacts that are not stored
}

// Load reads the store. It must be called once, before any other method.
func (b *Book) Load(ctx context.Context) error {
	if b.Store == nil {
		return nil
	}
	all, err := b.Store.Entries(ctx)
	if err != nil {
		return fmt.Errorf("load trust: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range all {
		e := all[i].clone()
		b.putLocked(&e)
	}
	return nil
}

func (b *Book) putLocked(e *Entry) {
	if b.entries == nil {
		b.entries = make(map[Who]*Entry)
	}
	b.entries[e.Who] = e
}

// Follow sets the entries of a trust file, replacing those of an earlier call. An entry of the
// file overrides the level and the skills of the stored entry with the same name.
func (b *Book) Follow(entries []Entry) {
	file := make(map[Who]Entry, len(entries))
	for i := range entries {
		file[entries[i].Who] = entries[i].clone()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file = file
}

// Level returns the entry of who: an entry at Observe if there is none.
func (b *Book) Level(_ context.Context, who Who) Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entryLocked(who)
}

// Allows reports whether a skill is performed without approval for who.
func (b *Book) Allows(ctx context.Context, who Who, skill string) bool {
	e := b.Level(ctx, who)
	return e.Allows(skill)
}

// entryLocked returns the effective entry of who.
func (b *Book) entryLocked(who Who) Entry {
	e := Entry{Who: who, Level: Observe, Skills: []string{}}
	if kept := b.entries[who]; kept != nil {
		e = kept.clone()
	}
	f, ok := b.file[who]
	if !ok {
		return e
	}
	e.Level, e.Skills = f.Level, slices.Clone(f.Skills)
	if e.FirstSeen.IsZero() || !f.FirstSeen.IsZero() && f.FirstSeen.Before(e.FirstSeen) {
		e.FirstSeen = f.FirstSeen
	}
	if f.LastSeen.After(e.LastSeen) {
		e.LastSeen = f.LastSeen
	}
	e.Contacts = max(e.Contacts, f.Contacts)
	return e
}

// List returns all entries, sorted by Who.
func (b *Book) List() []Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.listLocked()
}

func (b *Book) listLocked() []Entry {
	names := maps.Clone(b.file)
	if names == nil {
		names = make(map[Who]Entry)
	}
	for who := range b.entries {
		names[who] = Entry{}
	}
	all := make([]Entry, 0, len(names))
	for _, who := range slices.Sorted(maps.Keys(names)) {
		all = append(all, b.entryLocked(who))
	}
	return all
}

// Set changes the level or the skills of who and returns the new entry. It returns ErrInFile if
// the entry comes from a trust file and Write is nil.
func (b *Book) Set(ctx context.Context, who Who, c *Change) (Entry, error) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	before := b.entryLocked(who)
	_, inFile := b.file[who]
	b.mu.Unlock()
	if inFile && b.Write == nil {
		return before, ErrInFile
	}
	next, err := c.apply(before)
	if err != nil {
		return before, err
	}
	if b.Store != nil {
		if err := b.Store.PutEntries(ctx, []Entry{next.clone()}); err != nil {
			return before, fmt.Errorf("set trust of %s: %w", who, err)
		}
	}
	b.mu.Lock()
	kept := next.clone()
	if now := b.entries[who]; now != nil { // contacts may have been counted meanwhile
		kept.FirstSeen, kept.LastSeen, kept.Contacts = now.FirstSeen, now.LastSeen, max(now.Contacts, kept.Contacts)
	}
	b.putLocked(&kept)
	if inFile {
		b.file[who] = next.clone()
	}
	all := b.listLocked()
	b.mu.Unlock()
	if b.Write != nil {
		if err := b.Write(all); err != nil {
			return next, fmt.Errorf("set trust of %s: %w", who, err)
		}
	}
	return next, nil
}

// Contact counts a message from who. It causes no write.
func (b *Book) Contact(who Who, at time.Time) {
	at = time.UnixMilli(at.UnixMilli()).UTC()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[who]
	if e == nil {
		if len(b.entries) >= maxEntries || who == "" || len(who) > maxWho {
			return
		}
		known := b.entryLocked(who)
		e = &known
		e.Level, e.Skills = Observe, []string{} // level and skills of the file stay in the file
		b.putLocked(e)
	}
	if e.FirstSeen.IsZero() {
		e.FirstSeen = at
	}
	if at.After(e.LastSeen) {
		e.LastSeen = at
	}
	e.Contacts++
	if b.fresh == nil {
		b.fresh = make(map[Who]bool)
	}
	b.fresh[who] = true
}

// Run stores contacts periodically until ctx ends, and once more afterwards.
func (b *Book) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLast)
			defer cancel()
			b.flush(last)
			return nil
		}
	}
}

// flush stores the contacts that are not stored yet.
func (b *Book) flush(ctx context.Context) {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	fresh := b.fresh
	b.fresh = nil
	var some []Entry
	for who := range fresh {
		some = append(some, b.entries[who].clone())
	}
	all := b.listLocked()
	b.mu.Unlock()
	if len(some) == 0 {
		return
	}
	var err error
	if b.Store != nil {
		err = b.Store.PutEntries(ctx, some)
	}
	if b.Write != nil {
		err = errors.Join(err, b.Write(all))
	}
	if err == nil {
		return
	}
	b.mu.Lock()
	if b.fresh == nil {
		b.fresh = make(map[Who]bool)
	}
	maps.Copy(b.fresh, fresh) // retry at the next flush
	b.mu.Unlock()
	if b.Logger != nil {
		b.Logger.Error("contacts of trust are not stored", "error", err)
	}
}
