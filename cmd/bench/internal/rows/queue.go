package rows

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/reply"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// atQueue measures blocking sends to a hub whose agent is a worker at a broker. It compares
// them with requests and replies over the same broker with its own client: persistent,
// confirmed, acknowledged one by one. Each is measured with all connections concurrently, and
// with one.
func atQueue(ctx context.Context, b *Bench) ([]Result, error) {
	urls, all, end, err := b.brokers(ctx)
	if err != nil {
		return all, err
	}
	defer end()
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			return all, err
		}
		for _, conns := range []int{b.Conns, 1} {
			of := *b
			of.Conns = conns
			rs, err := of.each(ctx, "queue", []serve.Kind{serve.Replier, serve.ParleySQLite}, func(ctx context.Context, k serve.Kind) ([]Result, error) {
				return of.overBroker(ctx, k, address)
			})
			for i := range rs {
				rs[i].Case = queueCase(u.Scheme, conns)
			}
			if all = append(all, rs...); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func queueCase(scheme string, conns int) string {
	return scheme + ", " + strconv.Itoa(conns) + " at a time"
}

func (b *Bench) overBroker(ctx context.Context, k serve.Kind, address string) ([]Result, error) {
	if k == serve.Replier {
		return b.bareReplies(ctx, address)
	}
	return b.workers(ctx, address)
}

// bareReplies measures requests over the broker alone.
func (b *Bench) bareReplies(ctx context.Context, address string) (rs []Result, err error) {
	p, stop, err := b.start(ctx, serve.Replier, "-bus", address)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	line, err := reply.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer closing(&err, line.Close)
	text := []byte(strings.Repeat("x", b.Text))
	ask := func(n uint64) error {
		_, err := line.Ask(ctx, strconv.FormatUint(n, 36), text)
		return err
	}
	ops := make([]op, b.Conns)
	for i := range ops {
		ops[i] = ask
	}
	return b.closed(ctx, serve.Replier, p, ops)
}

// workers measures a hub whose agent is a worker at the broker.
func (b *Bench) workers(ctx context.Context, address string) (rs []Result, err error) {
	p, stop, err := b.start(ctx, serve.ParleySQLite, "-bus", address)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	_, stopWorker, err := b.start(ctx, serve.Worker, "-bus", address)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stopWorker)
	ops, hangUp, err := b.senders(ctx, p.Addr, v10)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	return b.closed(ctx, serve.ParleySQLite, p, ops)
}

// closed runs ops in a closed loop and condenses the measurements.
func (b *Bench) closed(ctx context.Context, k serve.Kind, p *child.Process, ops []op) ([]Result, error) {
	var runs []run
	err := b.profiled(ctx, p, fmt.Sprintf("queue-%s-%d", k, len(ops)), func() (err error) {
		runs, err = b.closedLoop(ctx, p, ops)
		return err
	})
	if err != nil {
		return nil, err
	}
	r := summary(k, "answers/s", runs)
	r.CPU, r.Allocs = 0, 0 // of one of the processes
	err = finish(ctx, p, &r)
	return []Result{r}, err
}
