package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// clock is the time of the database in milliseconds, which decides when a lease ends.
const clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

const memberColumns = "epoch, id, holder, version, config, address, joined_at, lease_until - " + clock + ", tasks, drain, view"

var (
	// Members join one after the other: each begins with this statement.
	qNextEpoch = prepared("UPDATE sequence SET epoch = epoch + 1 WHERE one = 1 RETURNING epoch")
	// Either the locks of the session, or the lease, show that an earlier process with the same id has ended.
	qEndSame = prepared(ending("2") + "ended = 0 AND (id = $1 OR holder = $2) FOR UPDATE)")
	qSame    = prepared("SELECT coalesce(max(lease_until - " + clock + "), 0) FROM hubs WHERE ended = 0 AND id = $1 AND epoch <> $2")
	qShare   = prepared(fmt.Sprintf("SELECT pg_try_advisory_xact_lock_shared(%d)::int", int64(hubLock)))
	qForget  = prepared("DELETE FROM hubs WHERE ended > 0 AND lease_until < " + clock + " - 86400000")
	qJoin    = prepared("INSERT INTO hubs VALUES ($1, $2, $3, $4, $5, $6, " + clock + ", " + clock + ` + $7, 0, 0, 0,
	(SELECT min(n) FROM generate_series(1, (SELECT count(*) + 1 FROM hubs WHERE ended = 0)) n
	WHERE n NOT IN (SELECT slot FROM hubs WHERE ended = 0)))`)
	qRenew    = prepared("UPDATE hubs SET lease_until = " + clock + " + $2, tasks = $3, view = $4 WHERE epoch = $1 AND ended = 0")
	qLeave    = prepared(ending("1") + "epoch = $1 AND ended = 0 FOR UPDATE)")
	qMembers  = prepared("SELECT " + memberColumns + " FROM hubs WHERE ended = 0 ORDER BY epoch")
	qEndLost  = prepared(ending("2") + "ended = 0 AND epoch <> $1 AND lease_until < " + clock + " FOR UPDATE)")
	qDrain    = prepared("UPDATE hubs SET drain = 1 WHERE ended = 0 AND id = $1")
	qAnnounce = prepared("SELECT pg_notify('" + channel + "', '0 !')")

	// Each transaction of a member that writes holds this lock on the row of the membership. Renewals do not
	// wait for it.
	qFence = prepared("SELECT ended, slot FROM hubs WHERE epoch = $1 FOR KEY SHARE")
)

// ending returns the beginning of a statement that ends memberships. It waits for the transactions of
// these members that write, and later ones find that the membership has ended.
func ending(how string) string {
	return "UPDATE hubs SET ended = " + how + " WHERE epoch IN (SELECT epoch FROM hubs WHERE "
}

// join makes a hub a member, in a transaction of its own. The hub may have the membership with the epoch own.
func (c *conn) join(h *cluster.Hub, lease time.Duration, own int64) (epoch int64, err error) {
	err = c.announced(func() error {
		s := c.start(qNextEpoch)
		if epoch, err = s.only(); err != nil {
			return err
		}
		if err := c.mayJoin(h.ID, own); err != nil {
			return err
		}
		s = c.start(qEndSame)
		s.text(h.ID)
		s.text(string(h.Holder))
		if err := s.done(); err != nil {
			return err
		}
		if err := c.run(qForget); err != nil {
			return err
		}
		s = c.start(qJoin)
		s.int(epoch)
		s.text(h.ID)
		s.text(string(h.Holder))
		s.text(h.Version)
		s.text(h.Config)
		s.text(h.Address)
		s.int(lease.Milliseconds())
		return s.done()
	})
	return epoch, err
}

// mayJoin returns ErrInUse while another process may use the database with an id, or alone. With a session, the locks
// have shown that none does.
func (c *conn) mayJoin(id string, own int64) error {
	if c.local == "" {
		return nil
	}
	s := c.start(qShare)
	if free, err := s.only(); err != nil || free == 0 {
		return cmp.Or(err, errAlone)
	}
	s = c.start(qSame)
	s.text(id)
	s.int(own)
	left, err := s.only()
	if err == nil && left > 0 {
		err = leased{sameID(id), time.Duration(left) * time.Millisecond}
	}
	return err
}

// announced runs f in a transaction, and announces that the members have changed.
func (c *conn) announced(f func() error) error {
	if err := c.open(qBeginNow); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := c.run(qAnnounce); err != nil {
		return err
	}
	return c.run(qCommit)
}

// sendFence sends the statement that keeps the membership for the transaction of the writer.
func (w *writer) sendFence() (err error) {
	w.fence = nil
	if w.o.Member == nil {
		return nil
	}
	w.epoch = w.joined.Load()
	s := w.conn.start(qFence)
	s.int(w.epoch)
	w.fence, err = w.conn.send(qFence)
	return err
}

// checkFence returns cluster.ErrLost unless the hub is a member.
func (w *writer) checkFence() error {
	if w.fence == nil {
		return nil
	}
	if err := w.conn.sync(); err != nil {
		return fmt.Errorf("read the membership: %w", err)
	}
	ended := int64(1)
	if len(w.fence.rows) == 1 {
		s := stmt{conn: w.conn, row: w.fence.rows[0], at: -1}
		if ended, w.slot = s.Int(), s.Int(); s.err != nil {
			return s.err
		}
	}
	if ended != 0 {
		return fmt.Errorf("epoch %d: %w", w.epoch, cluster.ErrLost)
	}
	return nil
}

// side is a connection beside that of the writer, which may wait. It connects when it is used. Its
// methods are safe for concurrent use.
type side struct {
	place   *place
	timeout time.Duration

	mu   sync.Mutex // guards conn, and is held while it is used
	conn *conn
}

// use runs f with the connection.
func (s *side) use(timeout time.Duration, f func(c *conn) error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if s.conn, err = dial(ctx, s.place); err != nil {
			s.conn = nil
			return unavailableNow(err)
		}
	}
	if err = s.conn.limit(timeout); err == nil {
		err = f(s.conn)
	}
	if err != nil && !errors.Is(err, cluster.ErrLost) {
		_ = s.conn.close() // it may have failed already
		s.conn = nil
		return unavailableNow(err)
	}
	return err
}

func (s *side) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.close()
		s.conn = nil
	}
}

// membership renews the membership of a hub.
type membership struct {
	side
	o     *Options
	epoch *atomic.Int64
	// view is the View of the last renewal.
	view atomic.Int64
}

// use is that of side. A new connection takes the locks that the last one had, once they are free: until then, another
// process with the id may start, and end this membership.
func (m *membership) use(timeout time.Duration, f func(c *conn) error) error {
	return m.side.use(timeout, func(c *conn) error {
		if c.local == "" && !c.locked {
			free, err := c.word(context.Background(), "SELECT "+tryMemberLocks(m.o.Member.ID))
			if err != nil {
				return err
			}
			c.locked = free == "t"
		}
		return f(c)
	})
}

// leave ends the membership and closes the connection.
func (m *membership) leave() {
	if m.o.Member == nil {
		return
	}
	// If the database fails, the lease ends by itself.
	_ = m.use(m.o.Lease, func(c *conn) error {
		return c.announced(func() error {
			s := c.start(qLeave)
			s.int(m.epoch.Load())
			return s.done()
		})
	})
	m.close()
}

// Renew renews the membership and returns all members. It takes at most a third of the shortest lease. The
// others get a hint if the view is a new one. The error is cluster.ErrLost if the lease has ended: then the hub
// may Rejoin.
func (db *DB) Renew(_ context.Context, r cluster.Renewal) ([]cluster.Member, error) {
	m := &db.member
	var all []cluster.Member
	err := m.use(m.o.Lease/3, func(c *conn) error {
		s := c.start(qRenew)
		s.int(m.epoch.Load())
		s.int(r.Lease.Milliseconds())
		s.int(int64(r.Runs))
		s.int(r.View)
		n, err := s.changed()
		if err == nil && n == 0 {
			return cluster.ErrLost
		}
		if err == nil && m.view.Load() != r.View {
			err = c.run(qAnnounce)
		}
		if err == nil {
			all, err = c.members()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("renew the lease of hub %s: %w", m.o.Member.ID, err)
	}
	m.view.Store(r.View)
	db.writer.follower.others.Store(len(all) > 1)
	return all, nil
}

// Rejoin makes a lost hub a member again, with another holder.
func (db *DB) Rejoin(_ context.Context, holder task.Holder) error {
	m := &db.member
	again := *m.o.Member
	again.Holder = holder
	err := m.use(m.o.Timeout, func(c *conn) error {
		if c.local == "" && !c.locked {
			return sameID(again.ID)
		}
		epoch, err := c.join(&again, m.o.Lease, m.epoch.Load())
		if err == nil {
			m.epoch.Store(epoch)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("join again as hub %s: %w", m.o.Member.ID, err)
	}
	return nil
}

// Lose ends the membership of the hubs whose leases have ended by the clock of the database. It
// returns their number.
func (db *DB) Lose(context.Context) (n int, err error) {
	m := &db.member
	err = m.use(m.o.Timeout, func(c *conn) error {
		return c.announced(func() error {
			s := c.start(qEndLost)
			s.int(m.epoch.Load())
			n, err = s.changed()
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("end memberships: %w", err)
	}
	return n, nil
}

// members returns the members in the order in which they joined.
func (c *conn) members() (all []cluster.Member, err error) {
	s := c.start(qMembers)
	for s.next() {
		m := cluster.Member{Epoch: s.Int()}
		m.ID, m.Holder, m.Version = s.Text(), task.Holder(s.Text()), s.Text()
		m.Config, m.Address = s.Text(), s.Text()
		m.Joined = task.Millis(s.Int())
		m.Lease = time.Duration(s.Int()) * time.Millisecond
		m.Tasks, m.Drain, m.View = s.Int(), s.getBool(), s.Int()
		all = append(all, m)
	}
	return all, s.err
}

// Members returns the hubs that use the database at address.
func Members(ctx context.Context, address string) (all []cluster.Member, err error) {
	err = visit(ctx, address, func(c *conn) error {
		all, err = c.members()
		return err
	})
	return all, err
}

// Drain asks the hub with an id to hand over its tasks and to stop. It reports whether there is
// such a hub.
func Drain(ctx context.Context, address, id string) (there bool, err error) {
	err = visit(ctx, address, func(c *conn) error {
		s := c.start(qDrain)
		s.text(id)
		n, err := s.changed()
		if there = n > 0; err == nil && there {
			err = c.run(qAnnounce)
		}
		return err
	})
	return there, err
}

// visit runs f with a connection of a program that is no hub. It never changes the layout.
func visit(ctx context.Context, address string, f func(*conn) error) error {
	at, err := parseAddress(address, &Options{Timeout: defaultTimeout})
	if err != nil {
		return err
	}
	c, err := dial(ctx, at)
	if err != nil {
		return fmt.Errorf("open %s: %w", at, unavailable(err))
	}
	defer func() { _ = c.close() }()
	if err = c.limit(defaultTimeout); err == nil {
		err = c.open(qBeginNow)
	}
	if err == nil {
		err = f(c)
	}
	if err == nil {
		err = c.run(qCommit)
	}
	if hasCode(err, "42P01") { // the table does not exist
		return fmt.Errorf("%s: %w: no hub of this version has used the database", at, ErrForeign)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, unavailable(err))
	}
	return nil
}

// Listen passes the hints of other members to f, until ctx ends or the connection fails. Before the
// first one, it calls f with All, because hints may have been lost.
func (db *DB) Listen(ctx context.Context, f func(cluster.Hint)) error {
	at := *db.member.place
	at.config = at.config.Copy()
	at.config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if h, ok := parseHint(n.Payload, db.member.epoch.Load()); ok {
			if h.Members {
				db.writer.follower.others.Store(true) // until the next renewal
			}
			f(h)
		}
	}
	c, err := dial(ctx, &at)
	if err != nil {
		return fmt.Errorf("listen: %w", unavailableNow(err))
	}
	defer func() { _ = c.close() }()
	if c.local != "" {
		return fmt.Errorf("listen: %w", ErrNoHints)
	}
	if err := c.script(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listen: %w", unavailableNow(err))
	}
	f(cluster.Hint{All: true, Members: true})
	for {
		if err := c.raw.WaitForNotification(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("listen: %w", unavailableNow(err))
		}
	}
}

// parseHint reads a hint. It reports false for one of the hub's own, and for one that a newer hub
// has sent in another form.
func parseHint(text string, own int64) (h cluster.Hint, ok bool) {
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			from, err := strconv.ParseInt(word, 36, 64)
			if err != nil || from == own {
				return h, false
			}
		case word == "*":
			h.All = true
		case word == "!":
			h.Members = true
		case word[0] == '@':
			h.Data = true // the words after @ name the topics
		default:
			switch key, err := strconv.ParseInt(word, 36, 64); {
			case err != nil:
			case key < 0:
				h.Cancels = append(h.Cancels, task.Key(-key))
			default:
				h.Keys = append(h.Keys, task.Key(key))
			}
		}
	}
	return h, true
}
