package rows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// pageSize is the number of tasks in a page of a list.
const pageSize = 50

// lookup measures reads among few and among many tasks, in turns.
func lookup(ctx context.Context, b *Bench) ([]Result, error) {
	of := *b
	of.Patience *= time.Duration(len(b.Sizes))
	for _, n := range b.Sizes { // a file takes longer than a row may
		if _, err := b.seed(ctx, n); err != nil {
			return nil, err
		}
	}
	kinds := []serve.Kind{serve.ParleySQLite, serve.ParleyPostgres}
	return of.each(ctx, "lookup", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) {
		sizes := b.Sizes
		if b.Short && k == serve.ParleyPostgres {
			sizes = sizes[:1]
		}
		return of.lookups(ctx, k, sizes)
	})
}

// lookups measures each method in turns, with a server for each number of tasks.
func (b *Bench) lookups(ctx context.Context, k serve.Kind, sizes []int) (rs []Result, err error) {
	var servers []*child.Process
	var stops []func() error
	defer func() {
		for _, stop := range stops {
			err = errors.Join(err, stop())
		}
	}()
	for _, n := range sizes {
		args, err := b.filled(ctx, k, n)
		if err != nil {
			return nil, err
		}
		p, stop, err := b.start(ctx, k, args...)
		if err != nil {
			return nil, err
		}
		servers, stops = append(servers, p), append(stops, stop)
	}
	for i := range reads(0) {
		var turns []*turn
		for at, n := range sizes {
			r := reads(n)[i]
			t := &turn{name: r.name + " of " + count(n), kind: k, unit: "calls/s", units: 1}
			ops, hangUp, err := b.readOps(r.open)(ctx, servers[at].Addr)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			defer hangUp()
			t.loop = &loop{p: servers[at], ops: ops}
			turns = append(turns, t)
		}
		more, err := b.lookupTurns(ctx, turns)
		if err != nil {
			return nil, err
		}
		rs = append(rs, more...)
	}
	return rs, nil
}

// lookupTurns measures one method.
func (b *Bench) lookupTurns(ctx context.Context, turns []*turn) (rs []Result, err error) {
	if err := b.profiledTurns(ctx, turns, func() error { return b.inTurns(ctx, "lookup", turns) }); err != nil {
		return nil, err
	}
	for _, t := range turns {
		r := summary(t.kind, t.unit, t.runs)
		r.Case = t.name
		rs = append(rs, r)
	}
	return rs, nil
}

// profiledTurns is profiled for the servers of all turns.
func (b *Bench) profiledTurns(ctx context.Context, turns []*turn, f func() error) error {
	if len(turns) == 0 {
		return f()
	}
	t := turns[0]
	p, ok := t.loop.p.(*child.Process)
	if !ok {
		return b.profiledTurns(ctx, turns[1:], f)
	}
	name := strings.NewReplacer(" of ", "-", ",", "").Replace(t.name)
	return b.profiled(ctx, p, string(t.kind)+"-"+name, func() error {
		return b.profiledTurns(ctx, turns[1:], f)
	})
}

// filled returns the arguments of a server with n tasks.
func (b *Bench) filled(ctx context.Context, k serve.Kind, n int) ([]string, error) {
	dir, err := b.seed(ctx, n)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "parley.db")
	if k != serve.ParleyPostgres {
		return []string{"-file", file, "-owners"}, nil
	}
	store, err := b.seeded(ctx, file, n)
	return []string{"-store", store, "-owners"}, err
}

// read is a method that reads, and opens an op for a connection.
type read struct {
	name string
	open func(*wire.Conn) op
}

// reads returns the methods of the row among n tasks.
func reads(n int) []read {
	totals := make([]int, ownersOf(n))
	for i := range n {
		totals[ownerOf(i, n)]++
	}
	return []read{
		{"GetTask", func(c *wire.Conn) op { return getter(c, n) }},
		{"ListTasks", func(c *wire.Conn) op { return lister(c, totals, n) }},
	}
}

// readOps returns a function that opens the connections of the row lookup.
func (b *Bench) readOps(open func(*wire.Conn) op) func(context.Context, string) ([]op, func(), error) {
	of := *b
	of.Conns = b.Lookups
	return func(ctx context.Context, addr string) ([]op, func(), error) {
		return of.dialed(ctx, addr, open)
	}
}

// owned is a request whose owner changes from call to call.
type owned struct {
	*wire.Request
	at int
}

func newOwned(method, params string) owned {
	r := wire.Call(method, params, serve.OwnerHeader+": "+ownerName(0))
	return owned{r, bytes.Index(r.With(0), []byte(ownerName(0)))}
}

// of returns the bytes of the request for an owner, with n in place of the mark.
func (o owned) of(owner int, n uint64) []byte {
	b := o.With(n)
	copy(b[o.at:], ownerName(owner))
	return b
}

// getter returns an op that gets random tasks, each as its owner.
func getter(c *wire.Conn, n int) op {
	request := newOwned("GetTask", `{"id":"`+wire.Mark+taskIDEnd+`"}`)
	want := []byte(`"` + wire.Mark + taskIDEnd + `"`)
	return func(uint64) error {
		i := rand.IntN(n)
		body, err := c.Do(request.of(ownerOf(i, n), uint64(i)))
		if err != nil {
			return err
		}
		wire.PutMark(want[1:], uint64(i))
		return contains(body, want, []byte(completed), []byte(`"something to me"`))
	}
}

// lister returns an op that gets the first page of the owners of random tasks. A tenth of the
// calls are for the largest owner.
func lister(c *wire.Conn, totals []int, n int) op {
	request := newOwned("ListTasks", `{"pageSize":`+strconv.Itoa(pageSize)+`}`)
	return func(uint64) error {
		owner := ownerOf(rand.IntN(n), n)
		body, err := c.Do(request.of(owner, 0))
		if err != nil {
			return err
		}
		total := totals[owner]
		if got, want := bytes.Count(body, []byte(completed)), min(total, pageSize); got != want {
			return fmt.Errorf("page of %d tasks instead of %d: %.300s", got, want, body)
		}
		if !bytes.Contains(body, fmt.Appendf(nil, `"totalSize":%d,`, total)) &&
			!bytes.Contains(body, fmt.Appendf(nil, `"totalSize":%d}`, total)) {
			return fmt.Errorf("page without a totalSize of %d: …%s", total, body[max(0, len(body)-300):])
		}
		return nil
	}
}
