package pgstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/agent/memory"
)

// Turns is the store of the conversation memory in a database.
type Turns struct{ db *DB }

var (
	_ memory.TurnStore = Turns{}
	_ memory.Sweeper   = Turns{}
)

// Turns returns the store of the conversation memory in the database.
func (db *DB) Turns() Turns { return Turns{db} }

var (
	qAddTurn = prepared(`INSERT INTO turns (owner, session, id, role, name, at, text) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (owner, session, id) DO NOTHING`)
	qOldTurns = prepared(`DELETE FROM turns WHERE place IN (SELECT place FROM turns
	WHERE owner = $1 AND session = $2 ORDER BY place DESC OFFSET $3)`)
	qTurns = prepared(`SELECT id, role, name, text, at FROM turns
	WHERE owner = $1 AND session = $2 AND at >= $3 ORDER BY place DESC LIMIT $4`)
	qForgetTurns = prepared("DELETE FROM turns WHERE owner = $1 AND session = $2")
	qSweepTurns  = prepared(`DELETE FROM turns WHERE place IN
	(SELECT place FROM turns WHERE at < $1 ORDER BY at LIMIT $2)`)
)

// Add implements memory.TurnStore.
func (t Turns) Add(ctx context.Context, in memory.Session, turns []memory.Turn, keep int) error {
	mine := slices.Clone(turns)
	for i := range mine {
		if mine[i].ID == "" {
			return fmt.Errorf("add turns: %w", memory.ErrNoID)
		}
	}
	err := t.db.write(ctx, func(w *writer) error {
		for i := range mine {
			if err := w.addTurn(in, &mine[i]); err != nil {
				return err
			}
		}
		if keep <= 0 {
			return nil
		}
		s := w.conn.start(qOldTurns)
		bindSession(&s, in)
		s.int(int64(keep))
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("add turns: %w", err)
	}
	return nil
}

func (w *writer) addTurn(in memory.Session, t *memory.Turn) error {
	s := w.conn.start(qAddTurn)
	bindSession(&s, in)
	s.text(t.ID)
	s.text(t.Role)
	s.text(t.Name)
	s.time(t.At)
	s.text(t.Text)
	return s.done()
}

func bindSession(s *stmt, in memory.Session) {
	s.text(string(in.Owner))
	s.text(in.Name)
}

// Turns implements memory.TurnStore.
func (t Turns) Turns(ctx context.Context, in memory.Session, since time.Time, limit int) ([]memory.Turn, error) {
	var found []memory.Turn
	err := t.db.read(ctx, func(c *conn) error {
		s := c.start(qTurns)
		bindSession(&s, in)
		s.time(since)
		s.int(int64(limit))
		for s.next() {
			found = append(found, memory.Turn{
				ID: s.getText(), Role: s.getText(), Name: s.getText(), Text: s.getText(), At: s.getTime(),
			})
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("turns: %w", err)
	}
	slices.Reverse(found)
	return found, nil
}

// Forget implements memory.TurnStore.
func (t Turns) Forget(ctx context.Context, in memory.Session) error {
	err := t.db.write(ctx, func(w *writer) error {
		s := w.conn.start(qForgetTurns)
		bindSession(&s, in)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("forget turns: %w", err)
	}
	return nil
}

// Sweep implements memory.Sweeper.
func (t Turns) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	swept, err := t.db.sweepRows(ctx, qSweepTurns, before, limit)
	if err != nil {
		return 0, fmt.Errorf("sweep turns: %w", err)
	}
	return swept, nil
}
