package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/task"
)

// Turns are the conversation memory. The zero Turns keep everything in this process. The
// fields must not change once it is in use.
type Turns struct {
	// Store keeps the turns. If nil, they end with the process.
	Store TurnStore
	// Log is where turns are made again from that are not remembered any more. If nil,
	// they are not.
	Log Log
	// Retention is how long a turn is kept; 30 days.
	Retention time.Duration
	// Keep is how many turns a session has at most; the oldest make way; 200.
	Keep int

	own MemTurns
}

// MaxTurn is how many bytes of a turn are kept; the rest of it is in the log.
const MaxTurn = 64 << 10

func (t *Turns) store() TurnStore {
	if t.Store == nil {
		return &t.own
	}
	return t.Store
}

func (t *Turns) retention() time.Duration { return cmp.Or(t.Retention, 30*24*time.Hour) }

func (t *Turns) keep() int { return cmp.Or(t.Keep, 200) }

// Append remembers turns at the end of a session. One that is there already, by its ID,
// stays as it is.
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

// Get returns the turns of a session that are remembered.
func (t *Turns) Get(ctx context.Context, s Session) ([]Turn, error) {
	found, err := t.store().Turns(ctx, s, time.Now().Add(-t.retention()), t.keep())
	if err != nil {
		return nil, fmt.Errorf("turns of %s: %w", s.Name, err)
	}
	return found, nil
}

// Continue returns the turns of the conversation in a context, with all that was said
// until now: it makes those that are not remembered yet from the tasks of the context in
// the log, and remembers them.
func (t *Turns) Continue(ctx context.Context, owner task.Owner, contextID string) ([]Turn, error) {
	s := SessionOf(owner, contextID, "")
	found, err := t.Get(ctx, s)
	if err != nil || t.Log == nil || contextID == "" {
		return found, err
	}
	// Notices are added before what was said in their task.
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

// rebuild returns the turns of a context that are not among those that were found. Those
// that have made way are left out, and so are those that are too old.
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

// Forget drops the turns of a session.
func (t *Turns) Forget(ctx context.Context, s Session) error {
	if err := t.store().Forget(ctx, s); err != nil {
		return fmt.Errorf("forget turns of %s: %w", s.Name, err)
	}
	return nil
}

// Run sweeps turns that are too old, until ctx ends.
func (t *Turns) Run(ctx context.Context) { sweep(ctx, t.store(), t.retention()) }
