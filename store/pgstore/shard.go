package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// ErrShard is returned for a database that does not fit the configuration: it belongs to another log, or
// has tasks of its own.
var ErrShard = errors.New("not a database of this log")

// Shard is the place of a database in a log over several. The zero Shard is that of a database which is a log
// of its own.
type Shard struct {
	// Log is the random name of the log.
	Log string
	// Number is the number of the database in the log. The home is 0.
	Number int
}

// ShardInfo describes a shard of a log.
type ShardInfo struct {
	Number int
	// Name is the address of the database without user and password.
	Name string
	// Owners is the number of owners whose tasks are in the shard.
	Owners int
}

// Stretch is a part of the timeline of a shard.
type Stretch struct {
	// Seq is the position of its first moment in the timeline of the log; zero in a shard.
	Seq int64
	// N is the number of its moments, and First the position of the first one in the shard.
	N, First int64
	Number   int
	// At is the time of the commit in microseconds; zero in the timeline of the log.
	At int64
}

var (
	qShard       = prepared("SELECT log, number FROM shard WHERE one = 1")
	qSetShard    = prepared("INSERT INTO shard VALUES (1, $1, $2)")
	qAnyTask     = prepared("SELECT count(*) FROM (SELECT FROM owners LIMIT 1) one")
	qSetLeast    = prepared("UPDATE sequence SET least = 12 WHERE least < 12")
	qShards      = prepared("SELECT number, name, (SELECT count(*) FROM shard_owners o WHERE o.number = s.number) FROM shards s ORDER BY number")
	qAddShard    = prepared("INSERT INTO shards VALUES ($1, $2, 0)")
	qNameShard   = prepared("UPDATE shards SET name = $2 WHERE number = $1 AND name <> $2")
	qHoldJoins   = prepared("SELECT epoch FROM sequence WHERE one = 1 FOR UPDATE")
	qOtherHubs   = prepared("SELECT count(*) FROM hubs WHERE ended = 0 AND epoch <> $1 AND config <> $2")
	qKeepOwners  = prepared("INSERT INTO shard_owners SELECT name, 0 FROM owners ON CONFLICT DO NOTHING")
	qShardOf     = prepared("SELECT number FROM shard_owners WHERE owner = $1")
	qPlaceOwner  = prepared("INSERT INTO shard_owners VALUES ($1, $2) ON CONFLICT DO NOTHING")
	qMerged      = prepared("SELECT number, merged FROM shards")
	qMergeLock   = prepared("SELECT pg_advisory_xact_lock(" + strconv.FormatInt(mergeLock, 10) + ")")
	qNewestShard = prepared("SELECT coalesce((SELECT seq + n - 1 FROM shard_timeline ORDER BY seq DESC LIMIT 1), 0)")
	qAddStretch  = prepared("INSERT INTO shard_timeline SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])")
	qSetMerged   = prepared("UPDATE shards SET merged = $2 WHERE number = $1")
	qTidyMerged  = prepared("DELETE FROM shard_timeline WHERE seq + n - 1 <= $1")
	qOldestShard = prepared("SELECT coalesce(min(seq), 0) FROM shard_timeline")
	qStretches   = prepared(`SELECT seq, n, number, first FROM shard_timeline
	WHERE seq >= coalesce((SELECT max(seq) FROM shard_timeline WHERE seq <= $1), $1) ORDER BY seq LIMIT $2`)
	qCommits = prepared("SELECT seq, n, at FROM timeline WHERE seq > $1 ORDER BY seq LIMIT $2")
)

// Shard returns the place of the database in a log over several.
func (db *DB) Shard(ctx context.Context) (p Shard, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		p, err = c.shard()
		return err
	})
	if err != nil {
		return Shard{}, fmt.Errorf("shard: %w", err)
	}
	return p, nil
}

func (c *conn) shard() (p Shard, err error) {
	s := c.start(qShard)
	if s.next() {
		p.Log, p.Number = s.Text(), int(s.Int())
	}
	return p, s.err
}

// ShardAt returns the place in a log over several of the database at address. It changes nothing.
func ShardAt(ctx context.Context, address string) (p Shard, err error) {
	err = visit(ctx, address, func(c *conn) (err error) {
		if p, err = c.shard(); hasCode(err, "42P01") { // the table does not exist yet
			return nil
		}
		return err
	})
	return p, err
}

// JoinLog makes the database a shard of a log. It returns ErrShard, and changes nothing, if it is one of
// another log, or if it has or had tasks and is not to be the home: their owners may be elsewhere already. The
// owners of the home stay there. From then on, hubs of earlier versions refuse the database. The hub is a member.
func (db *DB) JoinLog(ctx context.Context, p Shard) error {
	var wrong error
	err := db.send(ctx, true, func(w *writer) error {
		wrong = nil
		have, err := w.conn.shard()
		switch {
		case err != nil || have == p:
			return err
		case have != (Shard{}):
			wrong = fmt.Errorf("%w: it has the number %d in the log %s", ErrShard, have.Number, have.Log)
			return nil
		}
		s := w.conn.start(qAnyTask)
		if n, err := s.only(); err != nil {
			return err
		} else if n > 0 && p.Number != 0 {
			wrong = fmt.Errorf("%w: it has tasks: only the home may have some before", ErrShard)
			return nil
		}
		if p.Number == 0 {
			if wrong, err = w.foundLog(); wrong != nil || err != nil {
				return err
			}
		}
		s = w.conn.start(qSetShard)
		s.text(p.Log)
		s.int(int64(p.Number))
		if err := s.done(); err != nil {
			return err
		}
		return w.conn.run(qSetLeast)
	})
	if err = errors.Join(err, wrong); err != nil {
		return fmt.Errorf("%s: %w", db.name, err)
	}
	return nil
}

// foundLog gives the owners in the home their places. It refuses while hubs with another configuration are
// members: they would store tasks of other owners in the home. A hub that joins waits for the transaction.
func (w *writer) foundLog() (wrong, err error) {
	if err := w.conn.run(qHoldJoins); err != nil {
		return nil, err
	}
	s := w.conn.start(qOtherHubs)
	s.int(w.joined.Load())
	s.text(w.o.Member.Config)
	n, err := s.only()
	if err == nil && n > 0 {
		return fmt.Errorf("%w yet: %d hubs with another configuration use it: stop them first", ErrShard, n), nil
	}
	if err == nil {
		err = w.conn.run(qKeepOwners)
	}
	return nil, err
}

// KeysFrom makes the database take the keys of new tasks from the home: a task keeps its key in another shard.
func (db *DB) KeysFrom(ctx context.Context, home *DB) error {
	err := db.write(ctx, func(w *writer) error {
		w.home, w.nextKey, w.lastKey = home, 0, 0
		return nil
	})
	if err != nil {
		return fmt.Errorf("keys of a shard: %w", err)
	}
	return nil
}

// AddShard adds a database to the shards that a home knows, with the lowest number that is free. A database that
// is there keeps its number.
func (db *DB) AddShard(ctx context.Context, name string) (number int, err error) {
	err = db.send(ctx, true, func(w *writer) error {
		all, err := w.conn.shards()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(s ShardInfo) bool { return s.Name == name }); i >= 0 {
			number = all[i].Number
			return nil
		}
		number = len(all) // none is ever removed
		return w.conn.nameShard(qAddShard, number, name)
	})
	if err != nil {
		return 0, fmt.Errorf("add a shard: %w", err)
	}
	return number, nil
}

// NameShard changes the name of a shard that a home knows: the database has moved.
func (db *DB) NameShard(ctx context.Context, number int, name string) error {
	err := db.write(ctx, func(w *writer) error { return w.conn.nameShard(qNameShard, number, name) })
	if err != nil {
		return fmt.Errorf("name shard %d: %w", number, err)
	}
	return nil
}

func (c *conn) nameShard(q query, number int, name string) error {
	s := c.start(q)
	s.int(int64(number))
	s.text(name)
	return s.done()
}

// Shards returns the shards that a home knows, in the order of their numbers.
func (db *DB) Shards(ctx context.Context) (all []ShardInfo, err error) {
	err = db.read(ctx, func(c *conn) (err error) {
		all, err = c.shards()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("shards: %w", err)
	}
	return all, nil
}

func (c *conn) shards() (all []ShardInfo, err error) {
	s := c.start(qShards)
	for s.next() {
		all = append(all, ShardInfo{Number: int(s.Int()), Name: s.Text(), Owners: int(s.Int())})
	}
	return all, s.err
}

// Shards returns the shards of the log whose home is at address; none for a database that is a log of its own.
func Shards(ctx context.Context, address string) (all []ShardInfo, err error) {
	err = visit(ctx, address, func(c *conn) error {
		here, err := c.shard()
		if err == nil && here.Number != 0 {
			return fmt.Errorf("%w: it is shard %d: give the address of the home", ErrShard, here.Number)
		}
		if err == nil {
			all, err = c.shards()
		}
		return err
	})
	return all, err
}

// ShardOf returns the number of the shard of an owner, as a home knows it; false if it has none yet.
func (db *DB) ShardOf(ctx context.Context, owner task.Owner) (number int, found bool, err error) {
	err = db.read(ctx, func(c *conn) error {
		s := c.start(qShardOf)
		s.text(string(owner))
		if found = s.next(); found {
			number = int(s.Int())
		}
		return s.err
	})
	if err != nil {
		return 0, false, fmt.Errorf("shard of an owner: %w", err)
	}
	return number, found, nil
}

// PlaceOwner gives an owner a shard, unless it has one. It returns the number of its shard.
func (db *DB) PlaceOwner(ctx context.Context, owner task.Owner, number int) (at int, err error) {
	err = db.write(ctx, func(w *writer) error {
		s := w.conn.start(qPlaceOwner)
		s.text(string(owner))
		s.int(int64(number))
		if err := s.done(); err != nil {
			return err
		}
		s = w.conn.start(qShardOf)
		s.text(string(owner))
		n, err := s.only()
		at = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("place an owner: %w", err)
	}
	return at, nil
}

// Members returns the hubs that use the database.
func (db *DB) Members(context.Context) (all []cluster.Member, err error) {
	m := &db.member
	err = m.use(m.o.Timeout, func(c *conn) error {
		all, err = c.members()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return all, nil
}

// End ends the membership of another hub. It waits for the transaction in which that hub writes.
func (db *DB) End(_ context.Context, epoch int64) error {
	m := &db.member
	err := m.use(m.o.Timeout, func(c *conn) error {
		s := c.start(qEndOne)
		s.int(epoch)
		return s.done()
	})
	if err != nil {
		return fmt.Errorf("end a membership: %w", err)
	}
	return nil
}

var qEndOne = prepared(ending("2") + "ended = 0 AND epoch = $1 FOR UPDATE)")

// Commits returns up to limit commits in the timeline of a shard, with positions above after.
func (t Tasks) Commits(ctx context.Context, after int64, limit int) (all []Stretch, err error) {
	if err = t.numbered(ctx); err == nil {
		err = t.db.read(ctx, func(c *conn) error {
			all = nil
			s := c.start(qCommits)
			s.int(after)
			s.int(int64(limit))
			for s.next() {
				all = append(all, Stretch{First: s.Int(), N: s.Int(), At: s.Int()})
			}
			return s.err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("commits after %d: %w", after, err)
	}
	return all, nil
}

// Merged returns the position of each shard in its timeline up to which the home has merged it.
func (db *DB) Merged(ctx context.Context) (to map[int]int64, err error) {
	err = db.read(ctx, func(c *conn) error {
		to, err = c.merged()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("merged timeline: %w", err)
	}
	return to, nil
}

func (c *conn) merged() (map[int]int64, error) {
	to := make(map[int]int64)
	s := c.start(qMerged)
	for s.next() {
		number := int(s.Int())
		to[number] = s.Int()
	}
	return to, s.err
}

// Merge adds commits to the timeline of the log, in their order, and gives them positions without gaps. Commits
// that another hub has added meanwhile are left out. Moments that a shard has dropped before are counted.
func (db *DB) Merge(commits []Stretch) error {
	f := db.writer.follower
	return f.numbers.use(f.numbers.timeout, func(c *conn) error {
		for _, q := range []query{qBeginNow, qMergeLock} {
			if err := c.run(q); err != nil {
				return err
			}
		}
		to, err := c.merged()
		if err != nil {
			return err
		}
		s := c.start(qNewestShard)
		newest, err := s.only()
		if err != nil {
			return err
		}
		rows := joined(commits, to)
		var columns [4][]int64
		for i := range rows {
			r := &rows[i]
			for j, v := range [...]int64{newest + 1, r.N, int64(r.Number), r.First} {
				columns[j] = append(columns[j], v)
			}
			newest += r.N
		}
		if len(rows) > 0 {
			s = c.start(qAddStretch)
			for j := range columns {
				s.ints(columns[j])
			}
			if err := s.done(); err != nil {
				return err
			}
			s = c.start(qTidyMerged)
			s.int(newest - int64(f.keep))
			if err := s.done(); err != nil {
				return err
			}
		}
		for number, at := range to {
			s = c.start(qSetMerged)
			s.int(int64(number))
			s.int(at)
			if err := s.done(); err != nil {
				return err
			}
		}
		return c.run(qCommit)
	})
}

// joined returns the commits that are not merged yet, with those of a shard that follow each other as one, and
// advances the positions to which the shards are merged.
func joined(commits []Stretch, to map[int]int64) (rows []Stretch) {
	for _, c := range commits {
		at, known := to[c.Number]
		if !known || c.First <= at {
			continue
		}
		c.N += c.First - at - 1 // those that were dropped
		c.First = at + 1
		to[c.Number] = at + c.N
		if n := len(rows); n > 0 && rows[n-1].Number == c.Number {
			rows[n-1].N += c.N
			continue
		}
		rows = append(rows, c)
	}
	return rows
}

// Stretches returns up to limit stretches of the timeline of the log, from the one with the position on, and
// the positions of its oldest and newest moment.
func (db *DB) Stretches(ctx context.Context, from int64, limit int) (all []Stretch, oldest, newest int64, err error) {
	err = db.view(ctx, func(c *conn) (err error) {
		s := c.start(qOldestShard)
		if oldest, err = s.only(); err != nil {
			return err
		}
		s = c.start(qNewestShard)
		if newest, err = s.only(); err != nil || newest < from {
			return err
		}
		s = c.start(qStretches)
		s.int(from)
		s.int(int64(limit))
		all = nil
		for s.next() {
			all = append(all, Stretch{Seq: s.Int(), N: s.Int(), Number: int(s.Int()), First: s.Int()})
		}
		return s.err
	})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("timeline of all shards: %w", err)
	}
	return all, oldest, newest, nil
}

// SameDatabase reports whether two addresses name the same database.
func SameDatabase(a, b string) bool {
	x, err := parseAddress(a, &Options{})
	y, err2 := parseAddress(b, &Options{})
	return err == nil && err2 == nil && x.String() == y.String()
}

var qOwnerOf = prepared("SELECT o.name FROM tasks t JOIN owners o ON o.id = t.owner WHERE t.key = $1")

// OwnerOf returns the owner of the task with a key; false if the database has no such task.
func (t Tasks) OwnerOf(ctx context.Context, key task.Key) (owner task.Owner, found bool, err error) {
	err = t.db.read(ctx, func(c *conn) error {
		s := c.start(qOwnerOf)
		s.int(int64(key))
		if found = s.next(); found {
			owner = task.Owner(s.Text())
		}
		return s.err
	})
	if err != nil {
		return "", false, fmt.Errorf("owner of task %d: %w", key, err)
	}
	return owner, found, nil
}

// HeadsOf returns the heads of tasks; those that the database does not have are missing.
func (t Tasks) HeadsOf(ctx context.Context, keys []task.Key) (found []task.Head, err error) {
	all := make([]int64, len(keys))
	for i, key := range keys {
		all[i] = int64(key)
	}
	err = t.db.read(ctx, func(c *conn) (err error) {
		found, err = shared{}.Heads(c, all)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("heads of %d tasks: %w", len(keys), err)
	}
	return found, nil
}
