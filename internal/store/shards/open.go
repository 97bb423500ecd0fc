package shards

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store/pgstore"
)

// ErrRemoved is returned for a configuration without a database that has owners.
var ErrRemoved = errors.New("a database with tasks is missing")

// Options are the options of Open. All fields are required.
type Options struct {
	// Home is the address of the home, and Others those of the other shards.
	Home   string
	Others []string
	// Each are the options of each shard. The hub is a member.
	Each   pgstore.Options
	Logger *slog.Logger
}

// DB is a log in several databases. Its methods are safe for concurrent use.
type DB struct {
	o Options
	// log is the random name of the log.
	log string
	// all are the shards in the order of their numbers. Some may be missing, the home never is.
	all    []*shard
	owners owners
	keys   keys
	members

	// changed signals that moves may have changed, and steps that they were read.
	changed wake.Signal
	steps   wake.Broadcast
	syncing sync.Mutex           // guards acked
	acked   map[task.Owner]int64 // the epoch in which the hub has stated that an owner is held
	moving  sync.Map             // the owners that this hub moves
	reached func(point string)   // of tests

	ctx  context.Context // of the goroutines
	stop context.CancelFunc
	work sync.WaitGroup // the goroutines of keep, follow and moves
}

// Open opens all shards, and makes databases that are new shards of the log of the home. It returns the errors
// of pgstore.Open, pgstore.ErrShard for a database that is not one of this log and cannot become one, and
// ErrRemoved.
func Open(ctx context.Context, o Options) (_ *DB, err error) {
	if len(o.Others) >= MaxShards {
		return nil, fmt.Errorf("%d databases exceed the limit of %d", len(o.Others)+1, MaxShards)
	}
	if err := check(ctx, o.Home, o.Others); err != nil {
		return nil, err
	}
	db := &DB{o: o, members: members{own: o.Each.Member.Holder, lasts: cmp.Or(o.Each.Lease, cluster.DefaultLease)}}
	db.owners.db, db.changed, db.acked = db, wake.New(), make(map[task.Owner]int64)
	db.ctx, db.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	// The membership in the home comes first: hubs that it does not know are ended elsewhere.
	for i, address := range append([]string{o.Home}, o.Others...) {
		one, err := pgstore.Open(ctx, address, o.Each)
		if err != nil {
			return nil, err
		}
		s := &shard{number: i, db: one, tasks: one.Tasks(), failed: wake.New(), renewed: wake.New()}
		s.holder.Store(&o.Each.Member.Holder)
		db.all = append(db.all, s)
		if one.Polls() {
			return nil, fmt.Errorf("%s is the address of a pooler: give the one of the database itself, as for each of several databases", one.Name())
		}
	}
	if err := db.found(ctx); err != nil {
		return nil, err
	}
	for _, s := range db.all[1:] {
		if s.number, err = db.join(ctx, s.db); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(db.all, func(a, b *shard) int { return cmp.Compare(a.number, b.number) })
	for i, s := range db.all[1:] {
		if err := s.db.KeysFrom(ctx, db.home().db); err != nil {
			return nil, err
		}
		if s.number == db.all[i].number {
			return nil, fmt.Errorf("%s and %s are the same database", db.all[i].db.Name(), s.db.Name())
		}
	}
	if err := db.complete(ctx); err != nil {
		return nil, err
	}
	// The hub is a member: a mover waits for it from now on.
	if err := db.sync(ctx); err != nil {
		return nil, err
	}
	db.work.Go(func() { db.follow(db.ctx) })
	for _, s := range db.all[1:] {
		db.work.Go(func() { s.keep(db.ctx, db) })
	}
	return db, nil
}

// check refuses databases that cannot form a log, before it changes any.
func check(ctx context.Context, home string, others []string) error {
	log, err := pgstore.ShardAt(ctx, home)
	if err != nil {
		return err
	}
	if log.Number != 0 {
		return fmt.Errorf("%w: the home is shard %d of a log, whose home is another database", pgstore.ErrShard, log.Number)
	}
	seen := map[int]string{0: home}
	for i, address := range others {
		if pgstore.SameDatabase(address, home) || slices.ContainsFunc(others[:i], func(b string) bool { return pgstore.SameDatabase(address, b) }) {
			return fmt.Errorf("%w: store.databases lists one twice", pgstore.ErrShard)
		}
		at, err := pgstore.ShardAt(ctx, address)
		switch {
		case err != nil:
			return err
		case at == (pgstore.Shard{}):
			continue
		case at.Log != log.Log:
			return fmt.Errorf("%w: database %d of store.databases belongs to the log of another home", pgstore.ErrShard, i+1)
		case seen[at.Number] != "":
			return fmt.Errorf("%w: store.databases lists shard %d twice", pgstore.ErrShard, at.Number)
		}
		seen[at.Number] = address
	}
	return nil
}

// found makes the home that of a log, unless it is.
func (db *DB) found(ctx context.Context) error {
	home := db.all[0].db
	at, err := home.Shard(ctx)
	if err != nil {
		return err
	}
	if at == (pgstore.Shard{}) {
		err = home.JoinLog(ctx, pgstore.Shard{Log: strings.ToLower(rand.Text())})
		now, failed := home.Shard(ctx)
		if failed != nil || now == (pgstore.Shard{}) {
			return errors.Join(err, failed)
		}
		at = now // of this hub or of another one, which was first
	}
	if at.Number != 0 {
		return fmt.Errorf("%s: %w: it is shard %d, and no home", home.Name(), pgstore.ErrShard, at.Number)
	}
	if _, err := home.AddShard(ctx, home.Name()); err != nil {
		return err
	}
	db.log = at.Log
	return home.NameShard(ctx, 0, home.Name())
}

// join returns the number of a database in the log. A new one becomes a shard.
func (db *DB) join(ctx context.Context, one *pgstore.DB) (int, error) {
	home := db.all[0].db
	at, err := one.Shard(ctx)
	if err != nil {
		return 0, err
	}
	if at == (pgstore.Shard{}) {
		known, err := home.Shards(ctx)
		if err != nil {
			return 0, err
		}
		for _, s := range known {
			if s.Name == one.Name() && s.Owners > 0 {
				return 0, fmt.Errorf("%w: %s is empty, and the home knows %d owners with tasks in it: restore a backup of it", ErrRemoved, s.Name, s.Owners)
			}
		}
		if at.Number, err = home.AddShard(ctx, one.Name()); err != nil {
			return 0, err
		}
		at.Log = db.log
		if err := one.JoinLog(ctx, at); err != nil {
			return 0, err
		}
		db.o.Logger.Info("a database was added to the log", "store", one.Name(), "shard", at.Number)
	}
	if at.Log != db.log {
		return 0, fmt.Errorf("%s: %w: it belongs to another one, whose databases another home knows", one.Name(), pgstore.ErrShard)
	}
	return at.Number, home.NameShard(ctx, at.Number, one.Name())
}

// complete returns ErrRemoved if a database with owners is missing.
func (db *DB) complete(ctx context.Context) error {
	known, err := db.home().db.Shards(ctx)
	if err != nil {
		return err
	}
	for _, s := range known {
		if db.shard(s.Number) == nil && s.Owners > 0 {
			return fmt.Errorf("%w: %s (shard %d) has those of %d owners: add it to store.databases", ErrRemoved, s.Name, s.Number, s.Owners)
		}
	}
	return nil
}

// home returns the home.
func (db *DB) home() *shard { return db.all[0] }

// shard returns the shard with a number; nil if this hub has none.
func (db *DB) shard(number int) *shard {
	i, found := slices.BinarySearchFunc(db.all, number, func(s *shard, n int) int { return cmp.Compare(s.number, n) })
	if !found {
		return nil
	}
	return db.all[i]
}

// Home returns the database that keeps what owners share.
func (db *DB) Home() *pgstore.DB { return db.home().db }

// Name returns the address of the home without user and password, and the number of the other databases.
func (db *DB) Name() string { return fmt.Sprintf("%s and %d more", db.Home().Name(), len(db.all)-1) }

// Tasks returns the tasks in all shards.
func (db *DB) Tasks() Tasks { return Tasks{db} }

// Away returns the names of the databases that do not answer, and the number of all.
func (db *DB) Away() (names []string, all int) {
	for _, s := range db.all {
		if s.away.Load() {
			names = append(names, s.db.Name())
		}
	}
	return names, len(db.all)
}

// Damages counts the damaged objects that were met.
func (db *DB) Damages() (n int) {
	for _, s := range db.all {
		n += s.db.Damages()
	}
	return n
}

// Close closes all shards.
func (db *DB) Close() error {
	db.stop()
	db.work.Wait()
	var errs []error
	for _, s := range slices.Backward(db.all) {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
