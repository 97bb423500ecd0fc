package rows

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// pageSize is the number of tasks in a page of a list.
const pageSize = 50

// lookup measures reads among few and among many tasks.
func lookup(ctx context.Context, b *Bench) ([]Result, error) {
	var all []Result
	for _, n := range b.Sizes {
		dir, err := b.seed(ctx, n)
		if err != nil {
			return all, err
		}
		kinds := []serve.Kind{serve.ParleySQLite, serve.ParleyPostgres}
		if b.Short && n > b.Sizes[0] {
			kinds = kinds[:1]
		}
		rs, err := b.each(ctx, "lookup", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) {
			return b.lookupIn(ctx, k, filepath.Join(dir, "parley.db"), n)
		})
		all = append(all, rs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (b *Bench) lookupIn(ctx context.Context, k serve.Kind, file string, n int) (rs []Result, err error) {
	args := []string{"-file", file, "-owners"}
	if k == serve.ParleyPostgres {
		store, err := b.seeded(ctx, file, n)
		if err != nil {
			return nil, err
		}
		args = []string{"-store", store, "-owners"}
	}
	p, stop, err := b.start(ctx, k, args...)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	totals := make([]int, ownersOf(n))
	for i := range n {
		totals[ownerOf(i, n)]++
	}
	for _, what := range []struct {
		name string
		make func(*wire.Conn) op
	}{
		{"GetTask", func(c *wire.Conn) op { return getter(c, n) }},
		{"ListTasks", func(c *wire.Conn) op { return lister(c, totals, n) }},
	} {
		ops := make([]op, b.Lookups)
		for i := range ops {
			c, err := wire.Dial(ctx, p.Addr)
			if err != nil {
				return nil, err
			}
			defer c.Close()
			ops[i] = what.make(c)
		}
		var runs []run
		err := b.profiled(ctx, p, fmt.Sprintf("%s-%s-%d", k, what.name, n), func() (err error) {
			runs, err = b.closedLoop(ctx, p, ops)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what.name, err)
		}
		r := summary(k, "calls/s", runs)
		r.Case = what.name + " of " + count(n)
		rs = append(rs, r)
	}
	return rs, nil
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
