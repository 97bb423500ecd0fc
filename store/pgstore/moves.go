package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// MoveState is how far a move has come.
type MoveState int

// The states of a move. Until Moved, the place of the owner is the source.
const (
	Ordered MoveState = iota
	Copying
	Held
	Moved
	Failed
)

// AnyShard is the target of an order that leaves the choice to the hub.
const AnyShard = -1

// Errors of moves. Callers test with errors.Is.
var (
	// ErrNoOwner is returned for an owner without tasks.
	ErrNoOwner = errors.New("the owner has no tasks")
	// ErrNoShard is returned for a database that is none of the log.
	ErrNoShard = errors.New("no such database")
	// ErrThere is returned if the owner is in the target already.
	ErrThere = errors.New("the owner is there already")
	// ErrDrained is returned for a target that is being drained.
	ErrDrained = errors.New("the database is drained")
	// ErrNoHub is returned for an order that no hub would carry out.
	ErrNoHub = errors.New("no hub uses the databases")
	// ErrMoving is returned while an owner is moved.
	ErrMoving = errors.New("the owner is being moved")
	// ErrMove is returned for an order that has failed, with the reason.
	ErrMove = errors.New("the owner was not moved")
)

// Move is the way of an owner from one shard to another, as a home knows it.
type Move struct {
	Owner  task.Owner
	From   int
	To     int
	State  MoveState
	Turn   int64 // the number of the attempt to switch
	Mover  int64 // the epoch of the hub that carries it out
	Orphan bool  // the mover is no member any more
}

// moveTopic is the topic of changes of moves.
const moveTopic = "shards"

var (
	qMoves = prepared(`SELECT owner, source, target, state, turn, epoch,
	CASE WHEN EXISTS (SELECT FROM hubs h WHERE h.epoch = m.epoch AND h.ended = 0) THEN 0 ELSE 1 END FROM shard_moves m ORDER BY owner`)
	qBeginMove = prepared(`INSERT INTO shard_moves SELECT $1, $2, $3, 1, 0, $4, ''
	WHERE EXISTS (SELECT FROM shard_owners WHERE owner = $1 AND number = $2) ON CONFLICT DO NOTHING`)
	qOrderMove   = prepared("INSERT INTO shard_moves SELECT $1, number, $2, 0, 0, 0, '' FROM shard_owners WHERE owner = $1 ON CONFLICT DO NOTHING")
	qTakeOrder   = prepared("UPDATE shard_moves SET state = 1, target = $2, epoch = $3 WHERE owner = $1 AND state = 0")
	qFailMove    = prepared("UPDATE shard_moves SET state = 4, epoch = 0, reason = $2 WHERE owner = $1 AND epoch = $3")
	qForgetMove  = prepared("DELETE FROM shard_moves WHERE owner = $1 AND state = 4")
	qMoveOf      = prepared("SELECT state, reason FROM shard_moves WHERE owner = $1")
	qWorking     = prepared("SELECT count(*) FROM hubs WHERE ended = 0 AND lease_until > " + clock)
	qTakeMove    = prepared("UPDATE shard_moves SET epoch = $3 WHERE owner = $1 AND epoch = $2")
	qHoldMove    = prepared("UPDATE shard_moves SET state = 2, turn = $2 WHERE owner = $1 AND epoch = $3 AND state = 1")
	qReleaseMove = prepared("UPDATE shard_moves SET state = 1 WHERE owner = $1 AND turn = $2 AND state = 2")
	qAckHold     = prepared(`INSERT INTO shard_holds SELECT owner, turn, $3 FROM shard_moves
	WHERE owner = $1 AND turn = $2 AND state = 2 ON CONFLICT DO NOTHING`)
	qUnheld = prepared(`SELECT count(*) FROM hubs h WHERE ended = 0
	AND NOT EXISTS (SELECT FROM shard_holds s WHERE s.owner = $1 AND s.turn = $2 AND s.epoch = h.epoch)`)
	qSwitchMove  = prepared("UPDATE shard_moves SET state = 3 WHERE owner = $1 AND turn = $2 AND epoch = $3 AND state = 2")
	qSwitchOwner = prepared("UPDATE shard_owners o SET number = m.target FROM shard_moves m WHERE m.owner = $1 AND o.owner = $1")
	qDeparted    = prepared("UPDATE shards SET departed = 1 WHERE number = (SELECT source FROM shard_moves WHERE owner = $1)")
	qDropHolds   = prepared("DELETE FROM shard_holds WHERE owner = $1")
	qEndMove     = prepared("DELETE FROM shard_moves WHERE owner = $1 AND epoch = $2")
	qFlags       = prepared("SELECT number, drained, departed FROM shards")
	qDrainShard  = prepared("UPDATE shards SET drained = $2 WHERE number = $1")
	qOwnersIn    = prepared("SELECT owner FROM shard_owners WHERE number = $1 ORDER BY owner LIMIT $2")
)

// Moves returns the moves that a home knows.
func (db *DB) Moves(ctx context.Context) (all []Move, err error) {
	err = db.read(ctx, func(c *conn) error {
		all = nil
		s := c.start(qMoves)
		for s.next() {
			m := Move{Owner: task.Owner(s.Text()), From: int(s.Int()), To: int(s.Int()), State: MoveState(s.Int())}
			m.Turn, m.Mover, m.Orphan = s.Int(), s.Int(), s.getBool()
			all = append(all, m)
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	return all, nil
}

// changeMove executes statements about the move of an owner, and lets all hubs know. It reports whether the first
// one has changed a row; the others are left out otherwise. bind binds the values of the first one after the owner.
func (db *DB) changeMove(ctx context.Context, owner task.Owner, bind func(*stmt, *writer), queries ...query) (changed bool, err error) {
	err = db.write(ctx, func(w *writer) error {
		s := w.conn.start(queries[0])
		s.text(string(owner))
		bind(&s, w)
		n, err := s.changed()
		if changed = n > 0; err != nil || !changed {
			return err
		}
		for _, q := range queries[1:] {
			s := w.conn.start(q)
			s.text(string(owner))
			if err := s.done(); err != nil {
				return err
			}
		}
		w.touched(moveTopic)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("move of an owner: %w", err)
	}
	return changed, nil
}

// BeginMove adds a move of this hub. It reports false if the owner has another one, or is not in the source.
func (db *DB) BeginMove(ctx context.Context, owner task.Owner, from, to int) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(int64(from))
		s.int(int64(to))
		s.int(w.joined.Load())
	}, qBeginMove)
}

// TakeOrder makes an order one of this hub. It reports false if another hub was first.
func (db *DB) TakeOrder(ctx context.Context, owner task.Owner, to int) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(int64(to))
		s.int(w.joined.Load())
	}, qTakeOrder)
}

// FailMove ends a move of this hub, of which nothing is left to be done, with a reason for the one who has ordered it.
func (db *DB) FailMove(ctx context.Context, owner task.Owner, reason string) error {
	_, err := db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.text(reason)
		s.int(w.joined.Load())
	}, qFailMove, qDropHolds)
	return err
}

// TakeMove makes the move of another mover one of this hub. It reports false if another hub was first.
func (db *DB) TakeMove(ctx context.Context, owner task.Owner, mover int64) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(mover)
		s.int(w.joined.Load())
	}, qTakeMove)
}

// HoldMove asks all hubs to let the operations of an owner wait.
func (db *DB) HoldMove(ctx context.Context, owner task.Owner, turn int64) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(turn)
		s.int(w.joined.Load())
	}, qHoldMove, qDropHolds)
}

// AckHold states that this hub lets the operations of an owner wait, until it reads that the turn has ended.
func (db *DB) AckHold(ctx context.Context, owner task.Owner, turn int64) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(turn)
		s.int(w.joined.Load())
	}, qAckHold)
}

// ReleaseMove ends a turn without a switch. It reports false if the turn has ended already.
func (db *DB) ReleaseMove(ctx context.Context, owner task.Owner, turn int64) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, _ *writer) { s.int(turn) }, qReleaseMove)
}

// SwitchMove makes the target the place of the owner. It reports false, and changes nothing, if the turn has ended.
func (db *DB) SwitchMove(ctx context.Context, owner task.Owner, turn int64) (bool, error) {
	return db.changeMove(ctx, owner, func(s *stmt, w *writer) {
		s.int(turn)
		s.int(w.joined.Load())
	}, qSwitchMove, qSwitchOwner, qDeparted, qDropHolds)
}

// EndMove removes a move of this hub.
func (db *DB) EndMove(ctx context.Context, owner task.Owner) error {
	_, err := db.changeMove(ctx, owner, func(s *stmt, w *writer) { s.int(w.joined.Load()) }, qEndMove, qDropHolds)
	return err
}

// Unheld returns the number of members in which the operations of an owner do not wait yet.
func (db *DB) Unheld(ctx context.Context, owner task.Owner, turn int64) (n int64, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		s := c.start(qUnheld)
		s.text(string(owner))
		s.int(turn)
		n, err = s.only()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("members of a move: %w", err)
	}
	return n, nil
}

// Epoch returns the epoch of the membership.
func (db *DB) Epoch() int64 { return db.writer.joined.Load() }

// ShardFlags are the notes of a home about a shard.
type ShardFlags struct {
	// Drained is set while the shard gets no new owners, and Departed once an owner has left it.
	Drained, Departed bool
}

// ShardFlags returns the flags of all shards by their numbers.
func (db *DB) ShardFlags(ctx context.Context) (all map[int]ShardFlags, err error) {
	err = db.read(ctx, func(c *conn) error {
		all = make(map[int]ShardFlags)
		s := c.start(qFlags)
		for s.next() {
			number := int(s.Int())
			all[number] = ShardFlags{s.getBool(), s.getBool()}
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("flags of shards: %w", err)
	}
	return all, nil
}

// atHome runs f with a connection to the home of a log. An error that f returns with wrong leaves no trace.
func atHome(ctx context.Context, address string, f func(*conn) (wrong, err error)) error {
	var wrong error
	err := visit(ctx, address, func(c *conn) error {
		here, err := c.shard()
		if err == nil && (here.Number != 0 || here.Log == "") {
			wrong = fmt.Errorf("%w: give the address of the home of a log over several databases", ErrShard)
			return nil
		}
		if err == nil {
			wrong, err = f(c)
		}
		return err
	})
	return errors.Join(wrong, err)
}

// OrderMove asks the hubs of the log whose home is at address to move an owner to a shard. It returns one of the errors
// of moves if that cannot be.
func OrderMove(ctx context.Context, address string, owner task.Owner, to int) error {
	err := atHome(ctx, address, func(c *conn) (wrong, err error) {
		if wrong, err = c.mayMove(owner, to); wrong != nil || err != nil {
			return wrong, err
		}
		s := c.start(qForgetMove)
		s.text(string(owner))
		if err := s.done(); err != nil {
			return nil, err
		}
		s = c.start(qOrderMove)
		s.text(string(owner))
		s.int(int64(to))
		if n, err := s.changed(); err != nil || n == 0 {
			return ErrMoving, err
		}
		return nil, c.run(qAnnounce)
	})
	if err != nil {
		return fmt.Errorf("move owner %q: %w", owner, err)
	}
	return nil
}

// mayMove returns the reason for which an owner cannot move to a shard.
func (c *conn) mayMove(owner task.Owner, to int) (wrong, err error) {
	s := c.start(qWorking)
	if n, err := s.only(); err != nil || n == 0 {
		return ErrNoHub, err
	}
	s = c.start(qShardOf)
	s.text(string(owner))
	if !s.next() {
		return ErrNoOwner, s.err
	}
	if from := int(s.Int()); from == to || s.err != nil {
		return ErrThere, s.err
	}
	if to == AnyShard {
		return nil, nil
	}
	s = c.start(qFlags)
	wrong = fmt.Errorf("%w: shard %d", ErrNoShard, to)
	for s.next() {
		if number := int(s.Int()); number != to {
			continue
		}
		if wrong = nil; s.getBool() {
			wrong = ErrDrained
		}
	}
	return wrong, s.err
}

// OrderEnded reports whether the move of an owner that OrderMove has ordered has come to an end, and where the owner
// is. The error wraps ErrMove if it has failed.
func OrderEnded(ctx context.Context, address string, owner task.Owner) (place int, ended bool, err error) {
	err = atHome(ctx, address, func(c *conn) (wrong, err error) {
		s := c.start(qShardOf)
		s.text(string(owner))
		at, err := s.only()
		if place = int(at); err != nil {
			return nil, err
		}
		s = c.start(qMoveOf)
		s.text(string(owner))
		if !s.next() {
			ended = true
			return nil, s.err
		}
		if state, reason := MoveState(s.Int()), s.Text(); state == Failed {
			ended, wrong = true, fmt.Errorf("%w: %s", ErrMove, reason)
			s = c.start(qForgetMove)
			s.text(string(owner))
			err = s.done()
		}
		return wrong, errors.Join(err, s.err)
	})
	return place, ended, err
}

// DrainShard decides whether a shard of the log whose home is at address gets new owners.
func DrainShard(ctx context.Context, address string, number int, drained bool) error {
	err := atHome(ctx, address, func(c *conn) (wrong, err error) {
		s := c.start(qDrainShard)
		s.int(int64(number))
		s.bool(drained)
		if n, err := s.changed(); err != nil || n == 0 {
			return ErrNoShard, err
		}
		return nil, c.run(qAnnounce)
	})
	if err != nil {
		return fmt.Errorf("drain shard %d: %w", number, err)
	}
	return nil
}

// OwnersIn returns up to limit owners in a shard of the log whose home is at address.
func OwnersIn(ctx context.Context, address string, number, limit int) (all []task.Owner, err error) {
	err = atHome(ctx, address, func(c *conn) (wrong, err error) {
		s := c.start(qOwnersIn)
		s.int(int64(number))
		s.int(int64(limit))
		for s.next() {
			all = append(all, task.Owner(s.Text()))
		}
		return nil, s.err
	})
	if err != nil {
		return nil, fmt.Errorf("owners of shard %d: %w", number, err)
	}
	return all, nil
}
