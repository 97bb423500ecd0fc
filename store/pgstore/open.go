package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
)

// Defaults of Options.
const (
	defaultTimeout     = 10 * time.Second
	defaultConnectTime = 5 * time.Second
)

// Options tune a DB. The zero value is the hub's setting.
type Options struct {
	// Readers is the largest number of connections that read at the same time; zero means twice
	// the number of processors (GOMAXPROCS), but from 4 to 16. They are opened when they are
	// needed.
	Readers int
	// KeepMoments is the number of moments that the timeline keeps; zero means 100,000.
	KeepMoments int
	// Timeout limits each statement and each commit; zero means 10 seconds. A connection that
	// exceeds it is closed.
	Timeout time.Duration
	// LockWait limits the waiting for another hub that uses the database; zero means 5 seconds.
	// The database may notice only later that a hub was killed.
	LockWait time.Duration

	// Member makes the hub one of several that use the database at the same time, with this
	// description. If nil, the hub uses the database alone.
	Member *cluster.Hub
	// Direct is an address of the same database that gives each connection a session of its own, if the usual one
	// is that of a pooler. Without it, only members use a database behind a pooler, and they get no hints.
	Direct string
	// Lease is the time for which a membership lasts without a renewal; zero means 5 seconds.
	Lease time.Duration

	// Committed, if not nil, is called after each commit, from the goroutine that writes: it
	// must return at once.
	Committed func(Commit)
	// Damaged, if not nil, is called after each read or write that has met damaged data. It may be
	// called from several goroutines at once, and must return at once.
	Damaged func(Damage)
}

// Commit describes a commit or a failed attempt.
type Commit struct {
	// Changes is the number of changes and other writes in it.
	Changes int
	// Took is its duration, including the sync to the disk of the database.
	Took time.Duration
	// Err is nil if the commit is durable; otherwise it is the error that its callers got.
	Err error
}

// DB is the store in a database. Its methods are safe for concurrent use.
type DB struct {
	name    string
	writer  *writer
	member  membership
	readers *readers
	work    sync.WaitGroup // the goroutines of the writer and of its follower
	polls   bool
	close   func() error
}

// Open connects to the database at address, a URL such as postgres://user:password@host/name or
// a list of settings such as "host=/run/postgresql dbname=parley". It creates the schema or
// migrates it to the newest layout, and takes the lock that keeps other hubs out, or becomes a
// member beside them. The error names the database, never its password. It wraps task.ErrUnavailable if the database does not
// answer, or ErrInUse, ErrNewer, ErrForeign, ErrEncoding or ErrDamaged if it cannot be used.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.LockWait = cmp.Or(o.LockWait, defaultConnectTime)
	if o.Readers <= 0 {
		o.Readers = min(max(2*runtime.GOMAXPROCS(0), 4), 16)
	}
	if o.KeepMoments <= 0 {
		o.KeepMoments = defaultKeepMoments
	}
	o.Lease = cmp.Or(o.Lease, cluster.DefaultLease)
	store, err := parseAddress(address, &o)
	if err != nil {
		return nil, err
	}
	direct := store
	if o.Direct != "" {
		if direct, err = parseAddress(o.Direct, &o); err != nil {
			return nil, fmt.Errorf("store_direct: %w", err)
		}
		direct.direct = true
	}
	w := newWriter(store, direct, &o)
	db := &DB{name: store.String(), writer: w, readers: newReaders(store, o.Readers, o.Timeout, &w.damages)}
	db.member = membership{side: side{place: direct, timeout: o.Timeout}, o: &o, epoch: &w.joined}
	if err := db.first(ctx, store); err != nil {
		return nil, fmt.Errorf("open %s: %w", direct, unavailable(err))
	}
	db.close = sync.OnceValue(db.shut)
	db.work.Go(w.loop)
	db.work.Go(w.follower.run)
	return db, nil
}

// Name returns the address of the database without user and password.
func (db *DB) Name() string { return db.name }

// Polls reports whether Listen cannot work, because the address of the database is that of a pooler: then the hub sees
// the changes of others when it looks for them.
func (db *DB) Polls() bool { return db.polls }

// Tasks returns the tasks in the database.
func (db *DB) Tasks() Tasks { return Tasks{tables.Tasks{DB: shared{db}, Damaged: ErrDamaged}, db} }

// Close waits until accepted writes and running reads are finished, and closes all connections.
// Later calls of other methods return task.ErrUnavailable. Close may be called again.
func (db *DB) Close() error { return db.close() }

func (db *DB) shut() error {
	db.writer.queue.Close()
	db.work.Wait()
	db.writer.follower.numbers.close()
	db.member.leave()
	// Connections that a failing database has ended cannot be closed properly; nothing is lost.
	_ = db.readers.Close()
	db.writer.forget()
	return nil
}
