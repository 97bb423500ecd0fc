package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/cluster/keeper"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/shards"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// stores are the parts of the store of a hub: an SQLite file or a PostgreSQL database.
type stores struct {
	kind    string // sqlite or postgres
	tasks   task.Store
	keys    auth.KeyStore
	agents  agentStore
	letters queue.LetterStore
	inbox   inbox.Store
	trust   trust.Store
	notes   memory.Store
	turns   memory.TurnStore
	// parts returns the large parts in the store, with their time to live after the ends of their
	// tasks; nil if they are in a folder.
	parts func(keep time.Duration) blobstore.Store
	// topics returns how often other hubs have changed the data of each topic; nil for a file.
	topics func(context.Context) (map[string]int64, error)
	// damages counts the damaged objects that were met.
	damages func() int
	// away returns the databases that do not answer, and the number of all; nil for a store in one place.
	away func() (names []string, all int)
}

type agentStore interface {
	dirstore.Store
	dirstore.Notes
}

func inFile(db *sqlitestore.DB) stores {
	return stores{
		kind: "sqlite", tasks: db.Tasks(), keys: db.Keys(), agents: db.AgentStore(), letters: db.Letters(),
		inbox: db.Inbox(), trust: db.Trust(), notes: db.Notes(), turns: db.Turns(), damages: db.Damages,
	}
}

func inDatabase(db *pgstore.DB) stores {
	return stores{
		kind: "postgres", tasks: db.Tasks(), keys: db.Keys(), agents: db.AgentStore(), letters: db.Letters(),
		inbox: db.Inbox(), trust: db.Trust(), notes: db.Notes(), turns: db.Turns(), damages: db.Damages,
		topics: db.Topics,
		parts:  func(keep time.Duration) blobstore.Store { return db.Parts(keep) },
	}
}

// databaseRetry is the time between two attempts to open the database.
const databaseRetry = time.Second

// openDatabase opens the database of the store. Until it is available, the hub waits, and
// /readyz reports why.
func (h *Hub) openDatabase(ctx context.Context) error {
	member := h.member()
	if len(h.cfg.Store.Databases) > 0 && member == nil {
		return configf("%w", errSeveral)
	}
	o := pgstore.Options{
		Member:      member,
		Direct:      h.cfg.StoreDirect,
		KeepMoments: h.cfg.Events.Keep,
		Damaged:     h.damagedDatabase,
		Committed:   func(c pgstore.Commit) { trace.Committed(c.Changes, c.Took, reasonOf(c.Err)) },
	}
	db, err := h.dialStore(ctx, o)
	if errors.Is(err, task.ErrUnavailable) {
		db, err = h.awaitDatabase(ctx, o, err)
	}
	if err != nil {
		return err
	}
	h.opened(db.Close)
	h.storeName = db.Name()
	h.logLoss(ctx)
	if err := h.joinOthers(ctx, db, member); err != nil {
		return err
	}
	if _, err := os.Lstat(h.dir.Join(StoreName)); err == nil {
		h.logger.Warn("the data folder has a file of another store, which is not used", "file", h.dir.Join(StoreName), "store", db.Name())
	}
	return nil
}

// errSeveral is returned for several databases without a hub_id.
var errSeveral = errors.New("store.databases needs hub_id, although this hub may be the only one")

// database is a database, or several, without its stores.
type database interface {
	keeper.Table
	Listen(ctx context.Context, f func(cluster.Hint)) error
	Polls() bool
	Name() string
	Close() error
}

// dialStore opens the database, or all of several, with the stores in it.
func (h *Hub) dialStore(ctx context.Context, o pgstore.Options) (database, error) {
	c := &h.cfg.Store
	if len(c.Databases) > 0 {
		db, err := shards.Open(ctx, shards.Options{Home: c.Home, Others: c.Others(), Each: o, Logger: h.logger})
		if err != nil {
			return nil, err
		}
		h.stores = inShards(db)
		return db, nil
	}
	db, err := pgstore.Open(ctx, c.Home, o)
	if err != nil {
		return nil, err
	}
	at, err := db.Shard(ctx)
	if err == nil && at != (pgstore.Shard{}) {
		err = fmt.Errorf("%s is shard %d of a log over several databases: name all of them in store.databases", db.Name(), at.Number)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	h.stores = inDatabase(db)
	return db, nil
}

// inShards returns the stores in several databases.
func inShards(db *shards.DB) stores {
	s := inDatabase(db.Home())
	s.tasks, s.damages, s.away = db.Tasks(), db.Damages, db.Away
	s.parts = func(keep time.Duration) blobstore.Store { return db.Parts(keep) }
	return s
}

// databasesCheck names the databases that do not answer. The hub serves the owners in the others meanwhile.
func (h *Hub) databasesCheck() []engine.Check {
	if h.stores.away == nil {
		return nil
	}
	names, all := h.stores.away()
	c := engine.Check{Name: "databases", OK: true, Detail: fmt.Sprintf("all %d answer", all)}
	if len(names) > 0 {
		c.Detail = fmt.Sprintf("%d of %d do not answer, and their owners are not served: %s", len(names), all, strings.Join(names, ", "))
	}
	return []engine.Check{c}
}

// awaitDatabase tries to open the database until it is available.
func (h *Hub) awaitDatabase(ctx context.Context, o pgstore.Options, cause error) (database, error) {
	l, err := Listen(ctx, h.cfg.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	if h.tls != nil {
		l = tls.NewListener(l, h.tls.Config("http/1.1"))
	}
	stop := serveWaiting(l)
	defer stop()
	h.logger.Warn("the database is unavailable; waiting for it", "error", cause)
	for {
		if err := backoff.Sleep(ctx, databaseRetry); err != nil {
			return nil, fmt.Errorf("wait for the database: %w: %w", err, cause)
		}
		db, err := h.dialStore(ctx, o)
		if err == nil {
			h.logger.Info("the database is available", "store", db.Name())
		}
		if !errors.Is(err, task.ErrUnavailable) {
			return db, err
		}
		if err.Error() != cause.Error() {
			h.logger.Warn("the database is still unavailable", "error", err)
		}
		cause = err
	}
}

// Open opens the resources of the hub: the data folder, the addresses, the store. An error in
// the configuration is a *ConfigError. While a database is not available, Open waits for it.
func Open(ctx context.Context, o Options) (*Hub, error) {
	if wrong := Unusable(o.Config); len(wrong) > 0 {
		return nil, wrong[0]
	}
	for {
		h, err := open(ctx, o)
		if !errors.Is(err, task.ErrUnavailable) || !OnDatabase(o.Config.Store.Home) || ctx.Err() != nil {
			return h, err
		}
		o.Logger.Warn("the database failed while the hub started; retrying", "error", err)
		if cause := backoff.Sleep(ctx, databaseRetry); cause != nil {
			return nil, fmt.Errorf("%w: %w", cause, err)
		}
	}
}

// serveWaiting answers requests while the hub waits for its database, until stop is called.
func serveWaiting(l net.Listener) (stop func()) {
	check := engine.Check{Name: "store", Detail: "the hub waits for its database"}
	report, err := json.Marshal(map[string]any{"status": "not ready", "checks": []engine.Check{check}})
	if err != nil {
		panic("waiting: " + err.Error()) // the value is fixed
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/healthz" {
			fmt.Fprint(w, `{"status":"ok"}`)
			return
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(report) // the caller may be gone
	}
	s := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { // ends when the server is closed
		defer close(done)
		_ = s.Serve(l) // it ends with an error when it is closed
	}()
	return func() {
		_ = s.Close()
		<-done
	}
}

// masterName is the name of the note that only the right master key opens.
const masterName = "master.check"

// ErrMasterKey is returned for a master key that is not the one with which the secrets in the
// database are sealed.
var ErrMasterKey = errors.New("the master key does not match the database")

// loadMaster returns the master key: that of the configuration, or else that of the data folder.
func (h *Hub) loadMaster(ctx context.Context) (*seal.Sealer, error) {
	if box, err := masterOf(h.cfg); box != nil || err != nil {
		return box, err
	}
	if h.db != nil {
		return seal.Load(h.dir.Join(seal.FileName))
	}
	if note, err := h.stores.agents.Note(ctx, masterName); err != nil || note != nil {
		return nil, errors.Join(err, fmt.Errorf("%w: it is missing: copy %s from the data folder of the hub that used the database, or set master_key or PARLEY_MASTER_KEY",
			ErrMasterKey, seal.FileName))
	}
	return seal.Load(h.dir.Join(seal.FileName))
}

// checkMaster refuses a key that does not open the secret of the first hub of the database.
func (h *Hub) checkMaster(ctx context.Context) error {
	note, err := h.stores.agents.Note(ctx, masterName)
	if err != nil {
		return err
	}
	if note == nil {
		return h.stores.agents.PutNote(ctx, masterName, h.box.Seal(masterText, []byte(masterName)))
	}
	if _, err := h.box.Open(note, []byte(masterName)); err != nil {
		return fmt.Errorf("%w (%s): restore the key with which the secrets in it are sealed: %w", ErrMasterKey, h.storeName, err)
	}
	return nil
}

// OnDatabase reports whether the value of the key store is the address of a database.
func OnDatabase(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}
