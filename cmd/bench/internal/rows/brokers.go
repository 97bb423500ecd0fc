package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// brokers returns the brokers that are named on the command line, or else starts one of each kind
// that this machine has. A broker that cannot be started is a result with the reason. The caller
// must call end.
func (b *Bench) brokers(ctx context.Context) (urls []string, left []Result, end func(), err error) {
	if len(b.Brokers) > 0 {
		return b.Brokers, nil, func() {}, nil
	}
	b.Log("queue: start brokers")
	nats, stop, err := b.startNATS(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	urls, end = []string{nats}, func() { _ = stop() } // its error states that it was killed
	rabbit, err := rabbittest.Run()
	if err != nil {
		one := leftOut("RabbitMQ", fmt.Errorf("%w: %w", ErrLeftOut, err))
		one.Row = "queue"
		return urls, []Result{one}, end, nil
	}
	both := func() {
		_ = stop()
		rabbit.End()
	}
	return append(urls, rabbit.URL("/")), nil, both, nil
}

// startNATS starts the server of NATS, which writes each message to disk before it confirms it.
func (b *Bench) startNATS(ctx context.Context) (url string, stop func() error, err error) {
	path, err := b.buildNATS(ctx)
	if err != nil {
		return "", nil, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return "", nil, err
	}
	g, err := b.launch(ctx, launched{
		config: "listen: " + addr + "\njetstream { store_dir: data, sync_interval: always }\n", ready: "/healthz",
		args: func(port, file string) []string {
			return []string{path, "-c", file, "-a", addr[:strings.LastIndexByte(addr, ':')], "-m", port}
		},
	})
	return "nats://" + addr, g.stop, err
}
