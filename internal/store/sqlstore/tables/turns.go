package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/memory"
)

// Turns is the store of the conversation memory. See [NewTurns].
type Turns struct{ db DB }

var (
	_ memory.TurnStore = Turns{}
	_ memory.Sweeper   = Turns{}
)

// NewTurns returns the conversation memory in db.
func NewTurns(db DB) Turns { return Turns{db} }

var (
	qAddTurn = prepared(`INSERT INTO turns (owner, session, id, role, name, text, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (owner, session, id) DO NOTHING`)
	qOldTurns = prepared(`DELETE FROM turns WHERE place IN (SELECT place FROM turns
	WHERE owner = $1 AND session = $2 ORDER BY place DESC LIMIT 9223372036854775807 OFFSET $3)`)
	qTurns = prepared(`SELECT id, role, name, text, at FROM turns
	WHERE owner = $1 AND session = $2 AND at >= $3 ORDER BY place DESC LIMIT $4`)
	qForgetTurns = prepared("DELETE FROM turns WHERE owner = $1 AND session = $2")
	qSweepTurns  = prepared(`DELETE FROM turns WHERE place IN
	(SELECT place FROM turns WHERE at < $1 ORDER BY at LIMIT $2)`)
)

func turnFields(t *memory.Turn) []any { return []any{&t.ID, &t.Role, &t.Name, &t.Text, &t.At} }

// Add implements memory.TurnStore.
func (t Turns) Add(ctx context.Context, in memory.Session, turns []memory.Turn, keep int) error {
	mine := slices.Clone(turns)
	for i := range mine {
		if mine[i].ID == "" {
			return fmt.Errorf("add turns: %w", memory.ErrNoID)
		}
	}
	err := t.db.Write(ctx, func(c Conn) error {
		for i := range mine {
			if err := c.Exec(qAddTurn, append([]any{in.Owner, in.Name}, turnFields(&mine[i])...)...); err != nil {
				return err
			}
		}
		if keep <= 0 {
			return nil
		}
		return c.Exec(qOldTurns, in.Owner, in.Name, keep)
	})
	if err != nil {
		return fmt.Errorf("add turns: %w", err)
	}
	return nil
}

// Turns implements memory.TurnStore.
func (t Turns) Turns(ctx context.Context, in memory.Session, since time.Time, limit int) ([]memory.Turn, error) {
	found, err := list(ctx, t.db, fields(turnFields), qTurns, in.Owner, in.Name, since, limit)
	if err != nil {
		return nil, fmt.Errorf("turns: %w", err)
	}
	slices.Reverse(found)
	return found, nil
}

// Forget implements memory.TurnStore.
func (t Turns) Forget(ctx context.Context, in memory.Session) error {
	if err := exec(ctx, t.db, qForgetTurns, in.Owner, in.Name); err != nil {
		return fmt.Errorf("forget turns: %w", err)
	}
	return nil
}

// Sweep implements memory.Sweeper.
func (t Turns) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	swept, err := change(ctx, t.db, qSweepTurns, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep turns: %w", err)
	}
	return swept, nil
}
