// Command bench compares Parley with its peers: the same load on each of them, side by side on
// one machine, in one table.
//
//	cd cmd/bench && go run .                        # everything; about half an hour
//	go run . --quick                            # everything for a moment: does it work?
//	go run . --only blocking,stream --json
//
// It measures Parley on SQLite with fsync and in memory, the official SDKs for Go, JavaScript,
// Python and Java, trpc-a2a-go and a2a-rs in memory, and a bare net/http handler that answers with
// the same task. A server whose requirements are missing is left out with the reason. Every
// server is a process of its own; the load comes from this one. docs/performance.md defines each
// row.
//
// It exits with 1 if any answer was wrong, and with 2 on wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serveMain(os.Args[2:]))
	}
	os.Exit(benchMain(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// serveMain runs one of the servers. The server ends with its input and ignores interrupts,
// because signals from a terminal reach all processes at once.
func serveMain(args []string) int {
	signal.Ignore(os.Interrupt)
	var o serve.Options
	f := flag.NewFlagSet("bench serve", flag.ExitOnError)
	f.StringVar(&o.File, "file", "", "the file of parley-sqlite")
	f.StringVar(&o.Store, "store", "", "the address of the database of parley-postgres")
	f.IntVar(&o.MaxRuns, "max-runs", 0, "the most tasks that are executed at one time")
	f.BoolVar(&o.Effects, "effects", false, "declare that runs have effects")
	f.BoolVar(&o.Owners, "owners", false, "take owners from a header")
	f.StringVar(&o.Remote, "remote", "", "the URL of another server that performs the tasks of parley")
	f.StringVar(&o.Bus, "bus", "", "the URL of the broker of workers and repliers, and over which they perform the tasks of parley")
	f.BoolVar(&o.Open, "open", false, "hold no runs")
	_ = f.Parse(args) // exits
	o.Kind = serve.Kind(f.Arg(0))
	if err := serve.Run(context.Background(), o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench serve:", err)
		return 1
	}
	return 0
}

// options are the settings of the command line.
type options struct {
	bench rows.Bench
	rows  []rows.Row
	quick bool
	json  bool
	// budgets is set to print budgets in place of rows; flames is the folder of their flame graphs.
	budgets bool
	flames  string
	// html is the file of the page of curves, or empty.
	html string
}

// errUsage is wrapped by errors of the command line.
var errUsage = errors.New("wrong usage")

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "the rows to measure, such as blocking,stream; soak only if it is named here")
	servers := f.String("servers", "", "the servers to measure, such as parley-sqlite,bare")
	f.StringVar(&o.bench.Work, "work", filepath.Join(os.TempDir(), "parley-bench"), "a folder for files; those of many tasks are kept there")
	f.StringVar(&o.bench.Profiles, "profile", "", "a folder for profiles of the servers in Go in the rows blocking, stream and lookup")
	brokers := f.String("brokers", "", "the URLs of the brokers of the row queue, such as nats://127.0.0.1:4222,amqp://guest:guest@127.0.0.1:5672/")
	f.BoolVar(&o.quick, "quick", false, "a small load for a moment, to see that everything works")
	page := f.Bool("page", false, "shorter runs, for all rows within 25 minutes")
	f.StringVar(&o.html, "html", "", "write a page of curves to this file; without -only measure only them")
	f.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	f.BoolVar(&o.budgets, "budget", false, "print where the processor time of a send and of a chunk goes, and no rows")
	f.StringVar(&o.flames, "flames", "", "with -budget: a folder for flame graphs")
	warmup := f.Duration("warmup", 0, "how long to warm up")
	duration := f.Duration("duration", 0, "how long each run takes")
	runs := f.Int("runs", 0, "how many runs there are")
	soak := f.Int("soak", 0, "how many minutes the row soak takes")
	idle := f.Duration("idle", 0, "how long streams are left idle, and hubs, before their memory is read")
	if err := f.Parse(args); err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%w: unknown argument %q", errUsage, f.Arg(0))
	}
	l := &o.bench.Load
	*l = rows.Full()
	switch {
	case o.quick:
		*l = rows.Quick()
	case *page:
		*l = rows.Page()
	}
	if o.html != "" && *only == "" {
		*only = "curves"
	}
	override(&l.Warmup, *warmup)
	override(&l.Duration, *duration)
	override(&l.Runs, *runs)
	override(&l.Soak, *soak)
	override(&l.IdleWait, *idle)
	override(&l.MemoryWait, *idle)
	o.bench.Brokers = split(*brokers)
	for _, k := range split(*servers) {
		o.bench.Kinds = append(o.bench.Kinds, serve.Kind(k))
	}
	return o, errors.Join(o.choose(split(*only)), o.checkServers())
}

func override[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// choose keeps the named rows. Without names it keeps all except those that are measured only
// on request.
func (o *options) choose(names []string) error {
	o.rows = rows.All()
	var known []string
	for _, r := range o.rows {
		known = append(known, r.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return fmt.Errorf("%w: no row %q; there are %s", errUsage, n, strings.Join(known, ", "))
		}
	}
	o.rows = slices.DeleteFunc(o.rows, func(r rows.Row) bool {
		return len(names) == 0 && r.Asked || len(names) > 0 && !slices.Contains(names, r.Name)
	})
	return nil
}

func (o *options) checkServers() error {
	known := append([]serve.Kind{serve.Bare, serve.ParleyMemory, serve.ParleySQLite, serve.ParleyPostgres}, serve.Peers()...)
	for _, k := range o.bench.Kinds {
		if !slices.Contains(known, k) {
			return fmt.Errorf("%w: no server %q; there are %v", errUsage, k, known)
		}
	}
	return nil
}

// benchMain runs the bench.
func benchMain(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err == nil {
		err = o.locate()
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	o.bench.Log = func(format string, args ...any) { fmt.Fprintf(stderr, "bench: "+format+"\n", args...) }
	if o.budgets {
		return o.alone(stderr, func() (bool, error) { return o.budget(ctx, stdout) })
	}
	r := &report{Machine: lookAround(&o.bench), Load: describe(&o.bench.Load), Quick: o.quick}
	defer o.bench.Close()
	failed := o.run(ctx, r, stderr)
	if o.html != "" {
		if err := writePage(o.html, r); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			failed = true
		}
	}
	print := r.table
	if o.json {
		print = r.json
	}
	if err := print(stdout); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	if failed {
		return 1
	}
	return 0
}

// alone runs something else than rows, and returns the exit code.
func (o *options) alone(stderr io.Writer, f func() (bool, error)) int {
	defer o.bench.Close()
	ok, err := f()
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

// run measures the rows; it reports whether any of them ended with an error. An error does not
// stop the other rows.
func (o *options) run(ctx context.Context, r *report, stderr io.Writer) (failed bool) {
	for _, row := range o.rows {
		if ctx.Err() != nil {
			return true
		}
		rs, err := row.Run(ctx, &o.bench)
		r.Results = append(r.Results, rs...)
		if err != nil {
			failed = true
			r.Errors = append(r.Errors, fmt.Sprintf("%s: %v", row.Name, err))
			fmt.Fprintf(stderr, "bench: %s: %v\n", row.Name, err)
		}
	}
	if !o.quick {
		r.Goals = goals(r.Results)
	}
	return failed
}

// locate finds this program and the folder of the main module, and creates the folder for
// profiles.
func (o *options) locate() (err error) {
	if o.bench.Exe, err = os.Executable(); err != nil {
		return err
	}
	if o.bench.Root, err = filepath.Abs(filepath.Join("..", "..")); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(o.bench.Root, "cmd", "bench", "js", "server.mjs")); err != nil {
		return fmt.Errorf("%w: run it in the folder cmd/bench", errUsage)
	}
	if o.bench.Profiles != "" {
		return os.MkdirAll(o.bench.Profiles, 0o755)
	}
	return nil
}
