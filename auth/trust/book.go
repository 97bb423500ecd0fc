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

// ErrInFile is returned for a change of what a file decides that the hub does not write.
var ErrInFile = errors.New("the file of trust decides about this one; change it there, or let the hub write it (trust.write)")

const (
	// flushEvery is how often contacts are stored.
	flushEvery = 10 * time.Second
	// flushLast is how long the last contacts may take to be stored.
	flushLast = 5 * time.Second
	// maxEntries is how many entries contacts make.
	maxEntries = 10_000
)

// Book knows how far everybody is trusted. The zero Book is empty and keeps everything
// in memory. Its fields must not change once it is in use.
type Book struct {
	// Store keeps the entries. If nil, they end with the process.
	Store Store
	// Write writes a file of trust with all entries, after each change and when
	// contacts are stored. If nil, no file is written.
	Write func(entries []Entry) error
	// Logger receives a record when contacts cannot be stored. If nil, nothing is logged.
	Logger *slog.Logger

	writing sync.Mutex // held over changes that are stored, so that they are in order

	mu      sync.Mutex // guards the fields below; never held while the store works
	entries map[Who]*Entry
	file    map[Who]Entry // what the file says
	fresh   map[Who]bool  // have contacts that are not stored
}

// Load reads the store. It is called once, before everything else.
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

// Follow makes entries of a file decide about those whom they name, from now on, in
// place of what an earlier call has said.
func (b *Book) Follow(entries []Entry) {
	file := make(map[Who]Entry, len(entries))
	for i := range entries {
		file[entries[i].Who] = entries[i].clone()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file = file
}

// Level returns what is known of somebody: an entry at Observe if nothing is.
func (b *Book) Level(_ context.Context, who Who) Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entryLocked(who)
}

// Allows reports whether a skill is done at once for somebody.
func (b *Book) Allows(ctx context.Context, who Who, skill string) bool {
	e := b.Level(ctx, who)
	return e.Allows(skill)
}

// entryLocked returns what counts for somebody.
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

// List returns all entries in the order of Who.
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

// Set changes how far somebody is trusted and returns the entry. It returns ErrInFile if
// a file decides that is not written.
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
	if now := b.entries[who]; now != nil { // contacts may have come meanwhile
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

// Contact counts that somebody has sent a message. It costs no write.
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
		e.Level, e.Skills = Observe, []string{} // what a file says is the file's
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

// Run stores contacts until ctx ends, and then once more.
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

// flush stores the contacts that are not stored.
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
	maps.Copy(b.fresh, fresh) // the next time, then
	b.mu.Unlock()
	if b.Logger != nil {
		b.Logger.Error("contacts of trust are not stored", "error", err)
	}
}
