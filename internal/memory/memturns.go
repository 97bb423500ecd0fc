package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// MemTurns is an in-memory TurnStore. The zero MemTurns is ready to use. It is safe for
// concurrent use.
type MemTurns struct {
	mu       sync.Mutex // guards sessions
	sessions map[Session][]Turn
}

var (
	_ TurnStore = (*MemTurns)(nil)
	_ Sweeper   = (*MemTurns)(nil)
)

// ErrNoID is returned for a turn without an ID.
var ErrNoID = errors.New("turn has no id")

// Add implements TurnStore.
func (m *MemTurns) Add(ctx context.Context, s Session, turns []Turn, keep int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	have := m.sessions[s]
	for _, t := range turns {
		if t.ID == "" {
			return ErrNoID
		}
		if !slices.ContainsFunc(have, func(h Turn) bool { return h.ID == t.ID }) {
			t.At = millis(t.At)
			have = append(have, t)
		}
	}
	if keep > 0 && len(have) > keep {
		have = slices.Clone(have[len(have)-keep:])
	}
	if len(have) == 0 {
		return nil
	}
	if m.sessions == nil {
		m.sessions = make(map[Session][]Turn)
	}
	m.sessions[s] = have
	return nil
}

// Turns implements TurnStore.
func (m *MemTurns) Turns(ctx context.Context, s Session, since time.Time, limit int) ([]Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Turn
	for _, t := range m.sessions[s] {
		if !t.At.Before(since) {
			found = append(found, t)
		}
	}
	return found[max(len(found)-limit, 0):], nil
}

// Forget implements TurnStore.
func (m *MemTurns) Forget(ctx context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s)
	return ctx.Err()
}

// Sweep implements Sweeper.
func (m *MemTurns) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	swept := 0
	for s, turns := range m.sessions {
		kept := turns[:0]
		for _, t := range turns {
			if swept < limit && t.At.Before(before) {
				swept++
				continue
			}
			kept = append(kept, t)
		}
		if m.sessions[s] = kept; len(kept) == 0 {
			delete(m.sessions, s)
		}
	}
	return swept, ctx.Err()
}
