package shards

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/store/pgstore"
)

// maxHold is the time after which a hub asks for the end of a turn: the mover may have died.
const maxHold = time.Second

// follow keeps this hub in step with the moves that the home knows, until ctx ends.
func (db *DB) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.changed:
		}
		if err := db.sync(ctx); err != nil && ctx.Err() == nil {
			db.o.Logger.Warn("the moves of owners are not known", "error", err)
		}
	}
}

// sync reads the moves, and holds and releases owners as they say.
func (db *DB) sync(ctx context.Context) error {
	db.syncing.Lock()
	defer db.syncing.Unlock()
	flags, err := db.home().db.ShardFlags(ctx)
	if err != nil {
		return err
	}
	for _, s := range db.all {
		s.drained.Store(flags[s.number].Drained)
		s.left.Store(flags[s.number].Departed)
	}
	moves, err := db.home().db.Moves(ctx)
	if err != nil {
		return err
	}
	left := db.owners.holds()
	for i := range moves {
		m := &moves[i]
		if m.State != pgstore.Held {
			continue
		}
		held, before := left[m.Owner]
		delete(left, m.Owner)
		if epoch := db.home().db.Epoch(); !before || held != m.Turn || db.acked[m.Owner] != epoch {
			db.acked[m.Owner] = epoch
			db.answer(db.owners.hold(m.Owner, m.Turn), m)
		}
	}
	for owner := range left {
		delete(db.acked, owner)
		db.owners.release(owner)
	}
	db.adopt(moves)
	db.steps.Send()
	return nil
}

// answer states that the owner of a move is held once its operations have ended. If the turn lasts too long, it
// asks for its end.
func (db *DB) answer(h *hold, m *pgstore.Move) {
	owner, turn := m.Owner, m.Turn
	ctx := db.ctx
	db.work.Go(func() {
		late := time.NewTimer(maxHold)
		defer late.Stop()
		select {
		case <-h.idle:
			_, _ = db.home().db.AckHold(ctx, owner, turn) // without it, the turn ends without a switch
			db.changed.Send()
		case <-h.ended:
			return
		case <-late.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-h.ended:
			return
		case <-late.C:
		case <-ctx.Done():
			return
		}
		db.expire(ctx, h, m)
	})
}

// expire ends a turn that has lasted too long. The home decides whether the owner has a new place.
func (db *DB) expire(ctx context.Context, h *hold, m *pgstore.Move) {
	for {
		_, err := db.home().db.ReleaseMove(ctx, m.Owner, m.Turn)
		if err == nil {
			db.changed.Send()
		}
		select {
		case <-h.ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(maxHold):
		}
	}
}
