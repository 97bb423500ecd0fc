package shards

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// ErrBusy is returned if the operations of an owner do not come to a halt for a moment.
var ErrBusy = errors.New("not all hubs could let the owner wait")

const (
	// fewChanges is the number of changed tasks that are left for the switch, and catchUps limits the attempts to get there.
	fewChanges = 32
	catchUps   = 20
	// turns limits the attempts to switch, and turnWait is the time after a failed one.
	turns    = 8
	turnWait = 500 * time.Millisecond
)

// Move moves an owner to another shard while it works. When it returns nil, the source has none of its tasks any
// more. After another error than those above, the owner is in one of the two; this hub, another one or another
// Move removes the remains.
func (db *DB) Move(ctx context.Context, owner task.Owner, to int) error {
	if err := db.move(ctx, owner, to); err != nil {
		return fmt.Errorf("move owner %q to shard %d: %w", owner, to, err)
	}
	return nil
}

func (db *DB) move(ctx context.Context, owner task.Owner, to int) error {
	if _, busy := db.moving.LoadOrStore(owner, true); busy {
		return pgstore.ErrMoving
	}
	defer db.moving.Delete(owner)
	target, err := db.target(to)
	if err == nil {
		err = db.finishMove(ctx, owner, nil)
	}
	if err != nil {
		return err
	}
	from, found, err := db.home().db.ShardOf(ctx, owner)
	switch {
	case err != nil:
		return err
	case !found:
		return pgstore.ErrNoOwner
	case from == to:
		return pgstore.ErrThere
	}
	began, err := db.home().db.BeginMove(ctx, owner, from, to)
	if err == nil && !began {
		err = pgstore.ErrMoving
	}
	if err != nil {
		return err
	}
	return db.run(ctx, owner, from, target)
}

// run carries out a move of this hub, and ends it.
func (db *DB) run(ctx context.Context, owner task.Owner, from int, target *shard) error {
	source, err := db.source(from)
	if err == nil {
		db.reach("begun")
		err = db.carry(ctx, owner, source, target)
	}
	// The home may have changed nothing, or the owner may have moved: the rest is the same as after a crash.
	if tidied := db.finishMove(context.WithoutCancel(ctx), owner, err); tidied != nil {
		err = errors.Join(err, fmt.Errorf("tidy up: %w", tidied))
	}
	return err
}

// target returns a shard that may take an owner.
func (db *DB) target(number int) (*shard, error) {
	s, err := db.source(number)
	if err == nil && s.drained.Load() {
		err = fmt.Errorf("%w: %s", pgstore.ErrDrained, s.db.Name())
	}
	return s, err
}

// source returns a shard that answers.
func (db *DB) source(number int) (*shard, error) {
	s := db.shard(number)
	switch {
	case s == nil:
		return nil, fmt.Errorf("%w: shard %d", pgstore.ErrNoShard, number)
	case s.away.Load():
		return nil, fmt.Errorf("%w: database %s", task.ErrPartly, s.db.Name())
	}
	return s, nil
}

// carry copies the tasks of an owner and switches.
func (db *DB) carry(ctx context.Context, owner task.Owner, source, target *shard) (err error) {
	t, err := source.db.Transfer(ctx, owner, target.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	db.reach("watched")
	if err := t.All(ctx); err != nil {
		return err
	}
	db.reach("copied")
	for turn := range turns {
		for range catchUps {
			n, err := t.Catch(ctx)
			if err != nil {
				return err
			}
			if n <= fewChanges {
				break
			}
		}
		if err := (Tasks{db}).index(ctx, source, 64); err != nil {
			return err
		}
		switched, err := db.turn(ctx, owner, source, t)
		if switched || err != nil {
			return err
		}
		if err := backoff.Sleep(ctx, time.Duration(turn+1)*turnWait); err != nil {
			return err
		}
	}
	return ErrBusy
}

// index brings the full-text index of a shard up to date, with up to a number of pages: its target has no moments of
// the tasks.
func (t Tasks) index(ctx context.Context, s *shard, pages int) error {
	const limit = 256
	for range pages { // one that is being built takes long
		more := false
		err := s.use(func(in pgstore.Tasks) (err error) {
			more, err = in.IndexTexts(ctx, limit)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// turn lets the operations of the owner wait in all hubs, copies the rest, and makes the target its place. It
// reports false if the hubs did not wait, or not long enough.
func (db *DB) turn(ctx context.Context, owner task.Owner, source *shard, t *pgstore.Transfer) (switched bool, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	turn := int64(binary.BigEndian.Uint64(b[:]) >> 1)
	home := db.home().db
	if held, err := home.HoldMove(ctx, owner, turn); !held || err != nil {
		return false, err
	}
	db.changed.Send()
	defer func() {
		if switched {
			return
		}
		if _, failed := home.ReleaseMove(context.WithoutCancel(ctx), owner, turn); failed != nil {
			err = errors.Join(err, failed)
		}
		db.changed.Send()
	}()
	db.reach("held")
	if halted, err := db.halted(ctx, owner, turn); !halted || err != nil {
		return false, err
	}
	// Hubs that the home does not know any more write no longer in the source.
	if source.number != 0 {
		if err := source.renew(ctx, db); err != nil {
			return false, err
		}
	}
	db.reach("halted")
	if err := (Tasks{db}).index(ctx, source, 4); err != nil {
		return false, err
	}
	if err := t.Finish(ctx); err != nil {
		return false, err
	}
	// Later moments of the owner are from another shard: those of this one get their positions before.
	if err := (Tasks{db}).merge(ctx); err != nil {
		return false, err
	}
	db.reach("finished")
	switched, err = home.SwitchMove(ctx, owner, turn)
	if switched {
		db.changed.Send()
		db.reach("switched")
	}
	return switched, err
}

// halted waits until all members let the owner wait, and reports whether they do.
func (db *DB) halted(ctx context.Context, owner task.Owner, turn int64) (bool, error) {
	late := time.NewTimer(maxHold / 2)
	defer late.Stop()
	for {
		step := db.steps.Next()
		n, err := db.home().db.Unheld(ctx, owner, turn)
		if n == 0 || err != nil {
			return err == nil, err
		}
		select {
		case <-step:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// finishMove ends an earlier move of an owner, whose hub has ended: the shard that is not the place of the owner
// keeps none of its tasks.
func (db *DB) finishMove(ctx context.Context, owner task.Owner, reason error) error {
	moves, err := db.home().db.Moves(ctx)
	if err != nil {
		return err
	}
	for i := range moves {
		if m := &moves[i]; m.Owner == owner {
			return db.tidy(ctx, m, reason)
		}
	}
	return nil
}

// tidy ends a move of this hub, or of one that has ended. It notes the reason of a failure.
func (db *DB) tidy(ctx context.Context, m *pgstore.Move, reason error) error {
	home := db.home().db
	if m.Mover != home.Epoch() {
		if !m.Orphan {
			return pgstore.ErrMoving
		}
		if taken, err := home.TakeMove(ctx, m.Owner, m.Mover); err != nil || !taken {
			return errors.Join(err, pgstore.ErrMoving)
		}
	}
	if m.State == pgstore.Held {
		if _, err := home.ReleaseMove(ctx, m.Owner, m.Turn); err != nil {
			return err
		}
	}
	place, _, err := home.ShardOf(ctx, m.Owner) // from now on, it does not change
	if err != nil {
		return err
	}
	other := m.From
	if place == m.From {
		other = m.To
	}
	if m.State == pgstore.Ordered || m.State == pgstore.Failed || other == place {
		return home.EndMove(ctx, m.Owner)
	}
	in, err := db.source(place)
	if err != nil {
		return err
	}
	out, err := db.source(other)
	if err != nil {
		return err
	}
	// Lists of all owners come from the former shard until each hub has read the new place, which takes maxHold at most.
	if err := backoff.Sleep(ctx, 2*maxHold); err != nil {
		return err
	}
	if err := out.db.Remove(ctx, m.Owner); err != nil {
		return out.met(err)
	}
	db.reach("removed")
	if err := in.db.Settle(ctx, m.Owner); err != nil {
		return in.met(err)
	}
	if reason != nil {
		return home.FailMove(ctx, m.Owner, reason.Error())
	}
	return home.EndMove(ctx, m.Owner)
}

// adopt carries out orders, and ends the moves of hubs that have ended and those that this hub could not end before.
func (db *DB) adopt(moves []pgstore.Move) {
	for i := range moves {
		m := moves[i]
		if m.State == pgstore.Failed || !m.Orphan && m.Mover != db.home().db.Epoch() {
			continue
		}
		_, from := db.source(m.From)
		_, to := db.source(m.To)
		if m.State != pgstore.Ordered && (errors.Is(from, task.ErrPartly) || errors.Is(to, task.ErrPartly)) {
			continue // a renewal after its return tries again
		}
		if _, busy := db.moving.LoadOrStore(m.Owner, true); busy {
			continue
		}
		db.work.Go(func() {
			defer db.moving.Delete(m.Owner)
			what, do := "the remains of a move are left; the next renewal tries again", func() error { return db.tidy(db.ctx, &m, nil) }
			if m.State == pgstore.Ordered {
				what, do = "an owner was not moved", func() error { return db.order(db.ctx, &m) }
			}
			if err := do(); err != nil && !errors.Is(err, pgstore.ErrMoving) && db.ctx.Err() == nil {
				db.o.Logger.Warn(what, "owner", m.Owner, "error", err)
			}
		})
	}
}

// order carries out an order.
func (db *DB) order(ctx context.Context, m *pgstore.Move) error {
	to := m.To
	if to == pgstore.AnyShard {
		to = db.best(m.Owner).number
	}
	home := db.home().db
	if taken, err := home.TakeOrder(ctx, m.Owner, to); err != nil || !taken {
		return err
	}
	target, err := db.target(to)
	if err == nil && to == m.From {
		err = fmt.Errorf("%w: no other one takes owners", pgstore.ErrNoShard)
	}
	if err != nil {
		return errors.Join(err, home.FailMove(ctx, m.Owner, err.Error()))
	}
	if err := db.run(ctx, m.Owner, m.From, target); err != nil {
		return err
	}
	db.o.Logger.Info("an owner has moved", "owner", m.Owner, "from", m.From, "to", to)
	return nil
}

// reach calls the function of a test at a point of a move.
func (db *DB) reach(point string) {
	if db.reached != nil {
		db.reached(point)
	}
}
