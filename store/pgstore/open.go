package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

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
	close   func() error
}

// Open connects to the database at address, a URL such as postgres://user:password@host/name or
// a list of settings such as "host=/run/postgresql dbname=parley". It creates the schema or
// migrates it to the newest layout, and takes the lock that keeps other hubs out, or becomes a
// member beside them. The error names the database, never its password. It wraps task.ErrUnavailable if the database does not
// answer, or ErrInUse, ErrNewer, ErrForeign, ErrEncoding or ErrDamaged if it cannot be used.
func Open(ctx context.Context, address string, o Options) (*DB, error) {
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.LockWait = cmp.Or(o.LockWait, defaultConnectTime)
	if o.Readers <= 0 {
		o.Readers = min(max(2*runtime.GOMAXPROCS(0), 4), 16)
	}
	if o.KeepMoments <= 0 {
		o.KeepMoments = defaultKeepMoments
	}
	o.Lease = cmp.Or(o.Lease, cluster.DefaultLease)
	tune(config, &o)
	w := newWriter(config, &o)
	name := addressName(config)
	if err := w.first(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, unavailable(err))
	}
	db := &DB{name: name, writer: w, readers: newReaders(config, o.Readers, o.Timeout, &w.damages)}
	db.member = membership{side: side{config: config, timeout: o.Timeout}, o: &o, epoch: &w.joined}
	db.close = sync.OnceValue(db.shut)
	db.work.Go(w.loop)
	db.work.Go(w.follower.run)
	return db, nil
}

// parseAddress parses the address of a database. The error does not contain a password.
func parseAddress(address string) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		// The error of the parser may repeat the address, and its way to leave out the password
		// fails for addresses that are no URL.
		return nil, errors.New("address of the database is invalid: use postgres://user:password@host:port/name?sslmode=verify-full")
	}
	return config, nil
}

// addressName returns the address of a database without user and password, for messages.
func addressName(c *pgconn.Config) string {
	u := url.URL{Scheme: "postgres", Host: c.Host, Path: "/" + c.Database}
	if c.Host != "" && c.Host[0] == '/' {
		u.Host, u.RawQuery = "", url.Values{"host": {c.Host}}.Encode()
	}
	if c.Port != 5432 {
		u.Host += ":" + strconv.Itoa(int(c.Port))
	}
	return u.String()
}

// tune completes the settings of connections. Those in the address take precedence.
func tune(c *pgconn.Config, o *Options) {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, defaultConnectTime)
	ms := strconv.FormatInt(o.Timeout.Milliseconds(), 10)
	idle := ms
	if o.Member != nil {
		// A member that stands still within a transaction holds up the others.
		idle = strconv.FormatInt(min(o.Timeout, o.Lease/2).Milliseconds(), 10)
	}
	settings := map[string]string{
		"statement_timeout":                   ms,
		"idle_in_transaction_session_timeout": idle,
		"synchronous_commit":                  "on",
		// Each statement has one plan, whatever the values, and it uses an index. Without these
		// settings the plan depends on how recent the statistics of the tables are.
		"plan_cache_mode": "force_generic_plan",
		"enable_seqscan":  "off",
		"jit":             "off",
	}
	// Poolers such as PgBouncer accept these at the start of a session; others are set then.
	first := make(map[string]string)
	for name, value := range c.RuntimeParams {
		switch strings.ToLower(name) {
		case "application_name", "client_encoding", "options", "replication":
			first[name] = value
		default:
			settings[name] = value
		}
	}
	settings["search_path"] = schemaName // every statement depends on it
	first["application_name"] = cmp.Or(first["application_name"], "parley")
	c.RuntimeParams = first
	c.AfterConnect = func(ctx context.Context, raw *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
		defer cancel()
		_, err := raw.Exec(ctx, setting(settings)).ReadAll()
		return err
	}
}

// setting returns the statement that changes the settings of a session.
func setting(settings map[string]string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var all []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all = append(all, "set_config("+quote(name)+", "+quote(settings[name])+", false)")
	}
	return "SELECT " + strings.Join(all, ", ")
}

// Name returns the address of the database without user and password.
func (db *DB) Name() string { return db.name }

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
