package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// Bench is the common configuration of all rows: the load and the paths. The zero values of its
// fields are not useful; Full and Quick return complete loads.
type Bench struct {
	// Exe is the program that serves a kind when it is called as "Exe serve KIND …".
	Exe string
	// Root is the folder of Parley's main module.
	Root string
	// Work is the folder for files, including large ones. Its content may be deleted between
	// runs.
	Work string
	// Kinds are the servers to measure; empty means all.
	Kinds []serve.Kind
	// Brokers are the URLs of the brokers to measure, whose data may be deleted. Without one the
	// row queue starts its own.
	Brokers []string
	// Profiles is a folder for profiles of the servers in Go, or empty.
	Profiles string
	// Log is called with progress messages.
	Log func(format string, args ...any)

	// databases is the server of all databases; nil until one is needed.
	databases *pgtest.Server

	// Load is the load of all rows.
	Load
}

// Load is the size of the load.
type Load struct {
	// Warmup and Duration are the lengths of the warm-up and of each run, Runs is the number of
	// runs.
	Warmup, Duration time.Duration
	Runs             int
	// Patience is the time limit for one server in one row.
	Patience time.Duration
	// Conns is the number of connections that send messages.
	Conns int
	// Text is the length of the texts of messages in bytes.
	Text int
	// Streams are the lengths of streams in chunks.
	Streams []int
	// Readers and Events are the size of the fan-out.
	Readers, Events int
	// Idle is the number of idle streams, IdleWait the time that they stay idle.
	Idle     int
	IdleWait time.Duration
	// Sizes are the numbers of tasks in files, in ascending order; Lookups is the number of
	// connections that read them.
	Sizes   []int
	Lookups int
	// Starts is the number of starts of a hub.
	Starts int
	// MemoryWait is the time that a hub stays idle before its memory is read.
	MemoryWait time.Duration
	// Working, Lined and Asking are the numbers of tasks of a hub that is killed: those being
	// executed, those in the queue, and those that wait for their caller. Recovery is the time
	// limit for the next hub to end them.
	Working, Lined, Asking int
	Recovery               time.Duration
	// Large is the number of large messages that are sent at once, LargeSize the size of the text of
	// each in bytes.
	Large, LargeSize int
	// GatewayRate is the number of messages a second to a gateway.
	GatewayRate int
	// Open is the number of open tasks beside the load in the row features.
	Open int
	// Delays are the times that an fsync takes longer in the row slow-disk.
	Delays []time.Duration
	// Short leaves out measurements that take minutes: lookups among many tasks on PostgreSQL, and
	// long streams of peers.
	Short bool
	// Soak is the number of minutes that a hub runs at full load, and Minute the length of such
	// a minute.
	Soak   int
	Minute time.Duration
}

// Full returns the load of a complete run.
func Full() Load {
	return Load{
		Warmup: 5 * time.Second, Duration: 10 * time.Second, Runs: 3, Patience: 2 * time.Minute,
		Conns: 64, Text: 100, Streams: []int{1_000, 10_000}, Readers: 1_000, Events: 1_000,
		Idle: 10_000, IdleWait: time.Minute, Sizes: []int{10_000, 1_000_000}, Lookups: 8,
		Starts: 5, MemoryWait: 30 * time.Second,
		Working: 8_000, Lined: 1_000, Asking: 1_000, Recovery: time.Minute,
		Large: 100, LargeSize: 9 << 20, GatewayRate: 20, Open: 100_000,
		Delays: []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond},
		Soak:   10, Minute: time.Minute,
	}
}

// Quick returns a load that proves that everything works, and measures little.
func Quick() Load {
	l := Full()
	l.Warmup, l.Duration, l.Patience = 200*time.Millisecond, time.Second, time.Minute
	l.Streams, l.Readers, l.Events = []int{100, 1_000}, 100, 500
	l.Idle, l.IdleWait = 500, time.Second
	l.Sizes, l.Starts, l.MemoryWait = []int{1_000, 10_000}, 2, time.Second
	l.Working, l.Lined, l.Asking = 300, 50, 50
	l.Large, l.LargeSize = 4, 2<<20
	l.Open, l.Delays = 1_000, []time.Duration{0, 5 * time.Millisecond}
	l.Soak, l.Minute = 2, time.Second
	return l
}

// Page returns a load of all rows that takes less than 28 minutes on two cores.
func Page() Load {
	l := Full()
	l.Warmup, l.Duration, l.Patience = 2*time.Second, 4*time.Second, 45*time.Second
	l.IdleWait, l.MemoryWait, l.Starts, l.Short = 15*time.Second, 10*time.Second, 3, true
	l.Events = 400
	return l
}

// Row is one row of the table.
type Row struct {
	Name string
	// About describes the measurement in one line.
	About string
	Run   func(context.Context, *Bench) ([]Result, error)
	// Asked is set if the row is measured only on request by name.
	Asked bool
}

// All returns the rows in the order of the table.
func All() []Row {
	return []Row{
		{"blocking", "blocking sends: whole lives of tasks, closed loop", blocking, false},
		{"ratios", "the main rows in turns with the bare handler", ratios, false},
		{"stream", "one stream after the other, all chunks in one artifact", streaming, false},
		{"fanout", "one task, many readers", fanOut, false},
		{"idle-streams", "memory of an idle stream", idleStreams, false},
		{"lookup", "GetTask and ListTasks among many tasks", lookup, false},
		{"hubs", "blocking sends to parley serve: SQLite, and 1, 2 and 3 hubs on PostgreSQL", hubs, false},
		{"remote", "blocking sends at 200/s: a peer, and a hub that asks it", remote, false},
		{"gateway", "blocking sends at a fixed rate to a remote agent: direct, and through gateways", gateways, false},
		{"features", "blocking sends to parley serve with parts of it turned on, interleaved", features, false},
		{"scale", "blocking sends to 1, 2, 4 and 8 hubs on one PostgreSQL whose sync takes 10 ms longer, 16 connections each", scale, false},
		{"slow-disk", "blocking sends to parley serve whose fsync takes longer", slowDisk, false},
		{"small-memory", "large messages to parley serve in 128 MiB", smallMemory, false},
		{"queue", "blocking sends to an agent at a queue, and requests over the bare broker", atQueue, false},
		{"startup", "from exec of parley serve to /readyz", startup, false},
		{"recovery", "from exec after kill -9 to /readyz, and until all runs are done", recovery, false},
		{"idle-memory", "memory of an idle parley serve", idleMemory, false},
		{"large-bodies", "memory and the latency of small sends beside large ones", largeBodies, false},
		{"curves", "the curves of the page", curves, true},
		{"soak", "blocking sends for ten minutes: what grows?", soak, true},
	}
}

// Errors for measurements without a number.
var (
	// ErrLeftOut is wrapped by the errors of measurements that this machine cannot make.
	ErrLeftOut = errors.New("left out")
	// errLate is the cause of a context whose server has exceeded its time.
	errLate = errors.New("not done in time")
)

// want reports whether a kind is to be measured.
func (b *Bench) want(k serve.Kind) bool { return len(b.Kinds) == 0 || slices.Contains(b.Kinds, k) }

// each measures every wanted kind of kinds with f, within the bench's patience. A measurement
// that is impossible becomes a result that states the reason.
func (b *Bench) each(ctx context.Context, row string, kinds []serve.Kind, f func(context.Context, serve.Kind) ([]Result, error)) ([]Result, error) {
	var all []Result
	for _, k := range kinds {
		if !b.want(k) {
			continue
		}
		b.Log("%s: %s", row, k)
		if err := b.prepare(ctx, k); err != nil {
			left := leftOut(k, err)
			left.Row = row
			all = append(all, left)
			continue
		}
		ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, fmt.Errorf("%w: %v have passed", errLate, b.Patience))
		rs, err := f(ctx, k)
		late := errors.Is(context.Cause(ctx), errLate)
		cancel()
		switch {
		case err == nil:
		case late && !b.ours(k):
			rs = append(rs, leftOut(k, fmt.Errorf("not done within %v", b.Patience)))
		case errors.Is(err, ErrLeftOut):
			rs = append(rs, leftOut(k, err))
		case late:
			return all, fmt.Errorf("%s: %w: %w", k, errLate, err)
		default:
			return all, fmt.Errorf("%s: %w", k, err)
		}
		for i := range rs {
			rs[i].Row = row
		}
		all = append(all, rs...)
	}
	return all, nil
}

// ours reports whether k is Parley, for which exceeding the time is an error.
func (b *Bench) ours(k serve.Kind) bool {
	return k == serve.ParleySQLite || k == serve.ParleyPostgres || k == serve.ParleyMemory
}

// start starts a server with the further arguments. Parley on SQLite gets a new file unless
// they name one; the caller must call the returned function at the end.
func (b *Bench) start(ctx context.Context, k serve.Kind, args ...string) (*child.Process, func() error, error) {
	if p, ok := programs[k]; ok {
		return b.startProgram(ctx, p)
	}
	if k == serve.ParleyPostgres {
		return b.startOnDatabase(ctx, args)
	}
	dir, err := b.temp()
	if err != nil {
		return nil, nil, err
	}
	all := append([]string{"serve", "-file", filepath.Join(dir, "parley.db")}, args...)
	p, err := child.Start(ctx, exec.Command(b.Exe, append(all, string(k))...))
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, func() error { return errors.Join(p.Stop(), os.RemoveAll(dir)) }, nil
}

// temp creates an empty folder.
func (b *Bench) temp() (string, error) {
	if err := os.MkdirAll(b.Work, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(b.Work, "run-")
}

// sleep waits for d.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// closing adds the error of end to err.
func closing(err *error, end func() error) { *err = cmp.Or(*err, end()) }

// count formats a number with separators: 1,000,000.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
