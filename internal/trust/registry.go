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

// Registry holds the trust entries of callers and agents. The zero Registry is empty and keeps
// everything in memory. Its fields must not change after the first call. A Registry is safe for
// concurrent use.
type Registry struct {
	// Store stores the entries. If nil, they are kept in memory only.
	Store Store
	// Write writes all entries to a trust file, after each change and when contacts are stored.
	// If nil, no file is written.
	Write func(entries []Entry) error
	// Logger receives errors of storing contacts. If nil, nothing is logged.
	Logger *slog.Logger

	writing sync.Mutex // serialises stored changes

	mu      sync.Mutex // guards the fields below; never held during calls of the store
	entries map[Subject]*Entry
	file    map[Subject]Entry // the entries of the trust file
	fresh   map[Subject]int64 // the numbers of contacts that are not stored
}

// Load reads the store. It must be called once, before any other method.
func (r *Registry) Load(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	all, err := r.Store.Entries(ctx)
	if err != nil {
		return fmt.Errorf("load trust: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range all {
		e := all[i].clone()
		if now := r.entries[e.Subject]; now != nil && r.fresh[e.Subject] > 0 {
			e.Contacts += r.fresh[e.Subject]
			e.LastSeen = now.LastSeen
		}
		r.putLocked(e.Subject, &e)
	}
	return nil
}

// Follow sets the entries of a trust file, replacing those of an earlier call. An entry of the
// file overrides the level and the skills of the stored entry with the same name.
func (r *Registry) Follow(entries []Entry) {
	file := make(map[Subject]Entry, len(entries))
	for i := range entries {
		file[entries[i].Subject] = entries[i].clone()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file = file
}

// Level returns the entry of subject: an entry at Observe if there is none.
func (r *Registry) Level(_ context.Context, subject Subject) Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entryLocked(subject)
}

// Allows reports whether a skill is performed without approval for subject.
func (r *Registry) Allows(ctx context.Context, subject Subject, skill string) bool {
	e := r.Level(ctx, subject)
	return e.Allows(skill)
}

// entryLocked returns the effective entry of subject.
func (r *Registry) entryLocked(subject Subject) Entry {
	e := Entry{Subject: subject, Level: Observe, Skills: []string{}}
	if kept := r.entries[subject]; kept != nil {
		e = kept.clone()
	}
	f, ok := r.file[subject]
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

// List returns all entries, sorted by Subject.
func (r *Registry) List() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listLocked()
}

func (r *Registry) listLocked() []Entry {
	names := slices.AppendSeq(slices.Collect(maps.Keys(r.entries)), maps.Keys(r.file))
	slices.Sort(names)
	all := make([]Entry, 0, len(names))
	for _, subject := range slices.Compact(names) {
		all = append(all, r.entryLocked(subject))
	}
	return all
}

// Set changes the level or the skills of subject and returns the new entry. It returns ErrInFile if
// the entry comes from a trust file and Write is nil.
func (r *Registry) Set(ctx context.Context, subject Subject, c *Change) (Entry, error) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	before := r.entryLocked(subject)
	_, inFile := r.file[subject]
	r.mu.Unlock()
	if inFile && r.Write == nil {
		return before, ErrInFile
	}
	next, err := c.apply(before)
	if err != nil {
		return before, err
	}
	if r.Store != nil {
		if err := r.Store.PutEntries(ctx, []Entry{r.stored(next)}); err != nil {
			return before, fmt.Errorf("set trust of %s: %w", subject, err)
		}
	}
	r.mu.Lock()
	kept := next.clone()
	if now := r.entries[subject]; now != nil { // contacts may have been counted meanwhile
		kept.FirstSeen, kept.LastSeen, kept.Contacts = now.FirstSeen, now.LastSeen, max(now.Contacts, kept.Contacts)
	}
	r.putLocked(subject, &kept)
	if inFile {
		r.file[subject] = next.clone()
	}
	all := r.listLocked()
	r.mu.Unlock()
	if r.Write != nil {
		if err := r.Write(all); err != nil {
			return next, fmt.Errorf("set trust of %s: %w", subject, err)
		}
	}
	return next, nil
}

// stored returns an entry without the contacts that a ContactStore gets later.
func (r *Registry) stored(e Entry) Entry {
	e = e.clone()
	if _, adds := r.Store.(ContactStore); adds {
		r.mu.Lock()
		defer r.mu.Unlock()
		e.Contacts = max(e.Contacts-r.fresh[e.Subject], 0)
	}
	return e
}

// RecordContact counts a message from subject. It causes no write.
func (r *Registry) RecordContact(subject Subject, at time.Time) {
	at = time.UnixMilli(at.UnixMilli()).UTC()
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[subject]
	if e == nil {
		if len(r.entries) >= maxEntries || subject == "" || len(subject) > maxSubject {
			return
		}
		known := r.entryLocked(subject)
		e = &known
		e.Level, e.Skills = Observe, []string{} // level and skills of the file stay in the file
		r.putLocked(subject, e)
	}
	if e.FirstSeen.IsZero() {
		e.FirstSeen = at
	}
	if at.After(e.LastSeen) {
		e.LastSeen = at
	}
	e.Contacts++
	if r.fresh == nil {
		r.fresh = make(map[Subject]int64)
	}
	r.fresh[subject]++
}

func (r *Registry) putLocked(subject Subject, e *Entry) {
	if r.entries == nil {
		r.entries = make(map[Subject]*Entry)
	}
	r.entries[subject] = e
}

// Run stores contacts periodically until ctx ends, and once more afterwards.
func (r *Registry) Run(ctx context.Context) error {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLast)
			defer cancel()
			r.flush(last)
			return nil
		}
	}
}

// flush stores the contacts that are not stored yet.
func (r *Registry) flush(ctx context.Context) {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	fresh := r.fresh
	r.fresh = nil
	contacts, adds := r.Store.(ContactStore)
	var some []Entry
	for subject, n := range fresh {
		e := r.entries[subject].clone()
		if adds {
			e.Contacts = n
		}
		some = append(some, e)
	}
	all := r.listLocked()
	r.mu.Unlock()
	if len(some) == 0 {
		return
	}
	var err error
	switch {
	case adds:
		err = contacts.AddContacts(ctx, some)
	case r.Store != nil:
		err = r.Store.PutEntries(ctx, some)
	}
	if r.Write != nil {
		err = errors.Join(err, r.Write(all))
	}
	if err == nil {
		return
	}
	r.mu.Lock()
	for subject, n := range fresh {
		if r.fresh == nil {
			r.fresh = make(map[Subject]int64)
		}
		r.fresh[subject] += n // retry at the next flush
	}
	r.mu.Unlock()
	if r.Logger != nil {
		r.Logger.Error("contacts of trust are not stored", "error", err)
	}
}
