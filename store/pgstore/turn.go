package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/task"
)

// channel is the channel of notifications, in which members name their changes to each other.
const channel = "parley"

// maxHint is the largest size of a hint; PostgreSQL takes less than 8,000 bytes.
const maxHint = 7900

var (
	qTurn       = prepared("SELECT writer, members FROM sequence WHERE one = 1 FOR UPDATE")
	qPlace      = prepared("SELECT coalesce((SELECT ended FROM hubs WHERE epoch = $1), 2), (SELECT count(*) FROM hubs WHERE ended = 0)")
	qSetTurn    = prepared("UPDATE sequence SET writer = $1 WHERE one = 1")
	qTopics     = prepared("SELECT name, n FROM topics")
	qCountTopic = prepared("INSERT INTO topics AS t VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = t.n + 1")
	qNotify     = prepared("SELECT pg_notify('" + channel + "', convert_from($1, 'UTF8'))")
)

// turn is the state of a member in a transaction. Transactions of all members that write run one
// after the other: each begins with a lock on the row that names the last writer.
type turn struct {
	// got is the locked row; nil for a hub that is alone in the database.
	got *reply
	// seen is the number of changes of the membership up to which this hub knows that it is a
	// member; negative if it does not know.
	seen int64
	// others is set if there are other members.
	others bool
	// hint collects the changes of the transaction.
	hint []byte
	full bool
	// topics are those that the transaction has changed.
	topics []string
}

// changed adds a task to the hint.
func (t *turn) changed(key task.Key) {
	if t.got == nil || t.full {
		return
	}
	t.hint = strconv.AppendInt(append(t.hint, ' '), int64(key), 36)
	t.full = len(t.hint) > maxHint
}

// touched adds a topic to the hint.
func (w *writer) touched(topic string) {
	if t := &w.turn; t.got != nil && !slices.Contains(t.topics, topic) {
		t.topics = append(t.topics, topic)
	}
}

// countTopics counts the changes of topics.
func (w *writer) countTopics() error {
	t := &w.turn
	slices.Sort(t.topics)
	for _, topic := range t.topics {
		if !t.full {
			t.hint = append(append(t.hint, " @"...), topic...)
			t.full = len(t.hint) > maxHint
		}
		s := w.conn.start(qCountTopic)
		s.text(topic)
		if err := s.done(); err != nil {
			return err
		}
	}
	return nil
}

// Topics returns how often members have changed the data of each topic.
func (db *DB) Topics(ctx context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	err := db.read(ctx, func(c *conn) error {
		clear(all)
		s := c.start(qTopics)
		for s.next() {
			all[s.Text()] = s.Int()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("topics: %w", err)
	}
	return all, nil
}

// takeTurn sends the statement that waits for the turn of a member.
func (w *writer) takeTurn() (err error) {
	if w.o.Member == nil {
		return nil
	}
	t := &w.turn
	t.hint, t.full, t.topics = t.hint[:0], false, t.topics[:0]
	if now := w.joined.Load(); now != w.epoch {
		w.epoch, t.seen = now, -1
	}
	w.conn.start(qTurn)
	t.got, err = w.conn.send(qTurn)
	return err
}

// checkTurn prepares for the end of a transaction: the hub must be a member, and numbers that
// another hub may have changed are read again.
func (w *writer) checkTurn() error {
	t := &w.turn
	if t.got == nil {
		return nil
	}
	if err := w.conn.sync(); err != nil {
		return fmt.Errorf("wait for the turn: %w", err)
	}
	if len(t.got.rows) != 1 {
		return fmt.Errorf("%w: the sequence is missing: restore a backup", ErrDamaged)
	}
	s := stmt{conn: w.conn, row: t.got.rows[0], at: -1}
	last, members := s.Int(), s.Int()
	if s.err != nil {
		return s.err
	}
	if members != t.seen {
		if err := w.checkPlace(); err != nil {
			return err
		}
		t.seen = members
	}
	if last == w.epoch {
		return nil
	}
	w.moments.last = -1
	q := w.conn.start(qSetTurn)
	q.int(w.epoch)
	return q.done()
}

// checkPlace returns cluster.ErrLost unless the hub is a member.
func (w *writer) checkPlace() error {
	s := w.conn.start(qPlace)
	s.int(w.epoch)
	if !s.next() {
		return s.err
	}
	if ended := s.Int(); ended != 0 {
		return fmt.Errorf("epoch %d: %w", w.epoch, cluster.ErrLost)
	}
	w.turn.others = s.Int() > 1
	return s.err
}

// sendHint notifies the other members of the transaction, once it is committed.
func (w *writer) sendHint() error {
	t := &w.turn
	if t.got == nil || !t.others || len(t.hint) == 0 {
		return nil
	}
	text := strconv.AppendInt(nil, w.epoch, 36)
	if t.full {
		text = append(text, " *"...)
	} else {
		text = append(text, t.hint...)
	}
	s := w.conn.start(qNotify)
	s.blob(text)
	return s.done()
}
