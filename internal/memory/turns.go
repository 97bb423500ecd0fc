package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/task"
)

// Turns is the conversation memory. The zero Turns keeps everything in memory. Its fields must
// not change after the first call. It is safe for concurrent use.
type Turns struct {
	// Store stores the turns. If nil, they are kept in memory.
	Store TurnStore
	// Log is the task log from which Continue rebuilds missing turns. If nil, they are not
	// rebuilt.
	Log Log
	// Retention is the time for which a turn is kept; zero means 30 days.
	Retention time.Duration
	// Keep is the maximum number of turns of a session; the oldest are dropped. Zero means 200.
	Keep int

	own MemTurns
}

// MaxTurn is the maximum size of a stored turn in bytes; longer texts are cut.
const MaxTurn = 64 << 10

func (t *Turns) store() TurnStore {
	if t.Store == nil {
		return &t.own
	}
	return t.Store
}

func (t *Turns) retention() time.Duration { return cmp.Or(t.Retention, 30*24*time.Hour) }

func (t *Turns) keep() int { return cmp.Or(t.Keep, 200) }

// Append adds turns to the end of a session. A turn whose ID exists already is ignored.
func (t *Turns) Append(ctx context.Context, s Session, turns ...Turn) error {
	short := make([]Turn, len(turns))
	for i, turn := range turns {
		if len(turn.Text) > MaxTurn {
			end := MaxTurn
			for !utf8.RuneStart(turn.Text[end]) {
				end--
			}
			turn.Text = turn.Text[:end] + "…"
		}
		short[i] = turn
	}
	if err := t.store().Add(ctx, s, short, t.keep()); err != nil {
		return fmt.Errorf("append turns of %s: %w", s.Name, err)
	}
	return nil
}

// Get returns the stored turns of a session.
func (t *Turns) Get(ctx context.Context, s Session) ([]Turn, error) {
	found, err := t.store().Turns(ctx, s, time.Now().Add(-t.retention()), t.keep())
	if err != nil {
		return nil, fmt.Errorf("turns of %s: %w", s.Name, err)
	}
	return found, nil
}

// Continue returns all turns of the conversation in a context up to now. It rebuilds missing
// turns from the tasks of the context in Log, and stores them.
func (t *Turns) Continue(ctx context.Context, owner task.Owner, contextID string) ([]Turn, error) {
	s := SessionOf(owner, contextID, "")
	found, err := t.Get(ctx, s)
	if err != nil || t.Log == nil || contextID == "" {
		return found, err
	}
	// Notices are stored before the turns of their task.
	slices.SortStableFunc(found, byTime)
	more, err := t.rebuild(ctx, owner, contextID, found)
	if err != nil || len(more) == 0 {
		return found, err
	}
	if err := t.Append(ctx, s, more...); err != nil {
		return nil, err
	}
	found, err = t.Get(ctx, s)
	slices.SortStableFunc(found, byTime)
	return found, err
}

// rebuild returns the turns of a context that are missing in found, except those that were
// dropped or are older than the retention time.
func (t *Turns) rebuild(ctx context.Context, owner task.Owner, contextID string, found []Turn) ([]Turn, error) {
	known := make(map[string]bool, len(found))
	for i := range found {
		known[found[i].ID] = true
	}
	all, err := rebuild(ctx, t.Log, &task.Query{Owner: owner, ContextID: contextID, Limit: maxRebuilt}, known)
	if err != nil {
		return nil, err
	}
	oldest := time.Now().Add(-t.retention())
	full := len(found) >= t.keep()
	all = slices.DeleteFunc(all, func(turn Turn) bool {
		return known[turn.ID] || turn.At.Before(oldest) || full && !turn.At.After(found[0].At)
	})
	return all[max(0, len(all)-t.keep()):], nil
}

// Forget deletes the turns of a session.
func (t *Turns) Forget(ctx context.Context, s Session) error {
	if err := t.store().Forget(ctx, s); err != nil {
		return fmt.Errorf("forget turns of %s: %w", s.Name, err)
	}
	return nil
}

// Run deletes turns older than the retention time, until ctx ends.
func (t *Turns) Run(ctx context.Context) { sweep(ctx, t.store(), t.retention()) }
