package rows

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/store/pgstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// database returns the address of a new database, on a server that this machine runs for the bench.
func (b *Bench) database(name string) (string, error) {
	if b.databases == nil {
		s, err := pgtest.Run(0)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrLeftOut, err)
		}
		b.databases = s
	}
	return b.databases.Create(name)
}

// Close ends the server of the databases.
func (b *Bench) Close() {
	if b.databases != nil {
		b.databases.End()
	}
}

// databaseName returns a name that no other database of the run has.
func databaseName(dir string) string {
	return strings.ReplaceAll(filepath.Base(dir), "-", "_")
}

// startOnDatabase starts Parley on a new database, unless args name one.
func (b *Bench) startOnDatabase(ctx context.Context, args []string) (*child.Process, func() error, error) {
	dir, err := b.temp()
	if err != nil {
		return nil, nil, err
	}
	end := func() error { return os.RemoveAll(dir) }
	if len(args) == 0 || args[0] != "-store" {
		url, err := b.database(databaseName(dir))
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		args = append([]string{"-store", url}, args...)
	}
	all := append(append([]string{"serve"}, args...), string(serve.ParleyPostgres))
	p, err := child.Start(ctx, exec.Command(b.Exe, all...))
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	p.Database = b.databases.PID()
	return p, func() error { return errors.Join(p.Stop(), end()) }, nil
}

// seeded returns a database with the n tasks of a file.
func (b *Bench) seeded(ctx context.Context, file string, n int) (url string, err error) {
	b.Log("making a database of %s tasks", count(n))
	if url, err = b.database(fmt.Sprintf("tasks_%d", n)); err != nil {
		return "", err
	}
	dir, err := b.temp()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "dump"))
	if err != nil {
		return "", err
	}
	defer closing(&err, f.Close)
	w, err := dump.NewWriter(f, dump.Header{Parley: "bench", Store: "sqlite"})
	if err == nil {
		err = sqlitestore.Dump(ctx, file, w)
	}
	if err == nil {
		_, err = w.Close()
	}
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return "", err
	}
	r, err := dump.NewReader(bufio.NewReader(f))
	if err != nil {
		return "", err
	}
	return url, pgstore.Load(ctx, url, r)
}

// fleet is several hubs with their database.
type fleet struct {
	hubs     []*child.Process
	database int // the id of its first process; zero without one
}

// Usage implements target.
func (f *fleet) Usage() (all child.Usage, err error) {
	for _, p := range f.hubs {
		u, err := p.Usage()
		if err != nil {
			return all, err
		}
		all.Add(u)
	}
	if f.database != 0 {
		u, err := child.DatabaseUsage(f.database)
		all.Add(u)
		return all, err
	}
	return all, nil
}

// Mallocs implements target. The command does not report it.
func (f *fleet) Mallocs(context.Context) (uint64, error) { return 0, nil }

// stop ends all hubs.
func (f *fleet) stop() error {
	var errs []error
	for _, p := range f.hubs {
		errs = append(errs, p.Stop())
	}
	return errors.Join(errs...)
}

// hubs measures the cost of a task with the command itself: one hub on SQLite, one that uses a database
// alone, and one to three that share one, with as many connections for each of them, or in all.
func hubs(ctx context.Context, b *Bench) ([]Result, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, w := range []struct {
		name string
		formation
	}{
		{"SQLite", formation{conns: 1}},
		{"PostgreSQL, alone", formation{store: true, conns: 1}},
		{"PostgreSQL, 1 hub", formation{1, true, 1}},
		{"PostgreSQL, 2 hubs", formation{2, true, 2}},
		{"PostgreSQL, 3 hubs", formation{3, true, 3}},
		{"PostgreSQL, 3 hubs, load of 1", formation{3, true, 1}},
	} {
		b.Log("hubs: %s", w.name)
		r, err := b.hubsOn(ctx, path, w.formation)
		switch {
		case errors.Is(err, ErrLeftOut):
			r = leftOut(command, err)
		case err != nil:
			return all, fmt.Errorf("%s: %w", w.name, err)
		}
		r.Row, r.Case = "hubs", w.name
		all = append(all, r)
	}
	return all, nil
}

// syncDelay is what each sync of the database takes longer in the row scale, as in a database over several zones, and
// scaleConns the connections of each hub.
const (
	syncDelay  = 10 * time.Millisecond
	scaleConns = 16
)

// scale measures how the rate grows with the hubs on one database whose commits wait for a slow disk. So the rate is
// bounded by waiting, and not by the processors of this machine.
func scale(ctx context.Context, b *Bench) (all []Result, err error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	slow := *b
	slow.Conns = scaleConns
	if slow.databases, err = pgtest.Run(syncDelay); err != nil {
		return []Result{{Row: "scale", Server: command, Left: err.Error()}}, nil
	}
	defer slow.Close()
	for _, n := range []int{1, 2, 4, 8} {
		b.Log("scale: %d hubs", n)
		r, err := slow.hubsOn(ctx, path, formation{n, true, n})
		if err != nil {
			return all, fmt.Errorf("%d hubs: %w", n, err)
		}
		r.Row, r.Case = "scale", fmt.Sprintf("%d hubs, sync + %v", n, syncDelay)
		all = append(all, r)
	}
	return all, nil
}

// formation is a number of members, or one hub that is none, with a multiple of the connections.
type formation struct {
	members int
	store   bool
	conns   int
}

func (b *Bench) hubsOn(ctx context.Context, path string, w formation) (r Result, err error) {
	dir, err := b.temp()
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	f := new(fleet)
	defer closing(&err, f.stop)
	var url string
	if w.store {
		if url, err = b.database(databaseName(dir)); err != nil {
			return r, err
		}
		f.database = b.databases.PID()
	}
	for i := range max(w.members, 1) {
		p, err := b.spawnMember(ctx, path, member{i, filepath.Join(dir, fmt.Sprint(i)), url, w.members > 0})
		if err != nil {
			return r, err
		}
		f.hubs = append(f.hubs, p)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ops []op
	for i := range w.conns * b.Conns {
		c, err := wire.Dial(ctx, f.hubs[i%len(f.hubs)].Addr)
		if err != nil {
			return r, err
		}
		ops = append(ops, newEchoer(c, b.Text).send)
	}
	runs, err := b.closedLoop(ctx, f, ops)
	if err != nil {
		return r, err
	}
	return summary(command, "sends/s", runs), nil
}

// member is one of several hubs.
type member struct {
	n     int
	dir   string
	store string
	named bool // with an id
}

func (b *Bench) spawnMember(ctx context.Context, path string, m member) (*child.Process, error) {
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	var config string
	if m.store != "" {
		config = fmt.Sprintf("store: %q\nmaster_key: %q\n", m.store, strings.Repeat("0a", 32))
	}
	if m.named {
		config += fmt.Sprintf("hub_id: hub%d\n", m.n)
	}
	file := filepath.Join(m.dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	p, err := spawn(ctx, path, m.dir, "--config", file)
	if err != nil {
		return nil, err
	}
	if _, err := ready(ctx, p); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// echoers opens the connections of blocking sends to the agent echo.
func (b *Bench) echoers(ctx context.Context, addr string) (ops []op, hangUp func(), err error) {
	return b.dialed(ctx, addr, func(c *wire.Conn) op { return newEchoer(c, b.Text).send })
}

// answered precedes the text in the artifact of the agent echo.
const answered = `"artifacts":[{"artifactId":"echo","name":"echo","parts":[{"text":"`

// echoer sends messages to the agent echo.
type echoer struct {
	sender
	text []byte
}

func newEchoer(c *wire.Conn, length int) *echoer {
	text := wire.Mark + strings.Repeat(" word", max(0, length-wire.MarkLen)/5)
	e := &echoer{text: []byte(answered + text)}
	e.c, e.request = c, wire.Call("SendMessage", sendParams(text, ""))
	return e
}

func (e *echoer) send(n uint64) error {
	body, err := e.c.Do(e.request.With(n))
	if err != nil {
		return err
	}
	wire.PutMark(e.text[len(answered):], n)
	return contains(body, e.text, []byte(completed))
}
