// Command bench compares Parley with its peers: the same load on each of them, side by side on
// one machine, in one table.
//
//	cd cmd/bench && go run .            # everything; about half an hour
//	go run . --quick                    # everything for a moment: does it work?
//	go run . --only blocking,stream --json
//	go run . --publish .                # everything, and RESULTS.md with its pictures
//	go run . --gate results/result.json
//
// It measures Parley on SQLite with fsync and in memory, the official SDKs for Go, JavaScript,
// Python and Java, trpc-a2a-go and a2a-rs in memory, and a bare net/http handler that answers with
// the same task. A server whose requirements are missing is left out with the reason. Every
// server is a process of its own; the load comes from this one. RESULTS.md defines each row.
//
// It exits with 1 if any answer was wrong or the gate found a regression, with 2 on wrong usage, and
// with 3 if the rounds of the gate differ too much to find one.
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
	"time"

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
	// publish is the folder to write RESULTS.md and its files into, from the file of an
	// earlier result unless it is empty, and record the one that the gate compares with.
	publish, from, record string
	// prepare is set to build programs and files, and measure nothing.
	prepare bool
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
	page := f.Bool("page", false, "shorter runs, for all rows within 28 minutes")
	f.StringVar(&o.html, "html", "", "write a page of curves to this file; without -only measure only them")
	f.BoolVar(&o.json, "json", false, "print JSON instead of a table")
	f.BoolVar(&o.budgets, "budget", false, "print where the processor time of a send and of a chunk goes, and no rows")
	f.StringVar(&o.flames, "flames", "", "with -budget: a folder for flame graphs")
	f.StringVar(&o.publish, "publish", "", "measure everything with -page, and write the results, curves and flame graphs into RESULTS.md and results in this folder")
	f.StringVar(&o.from, "from", "", "measure nothing, and print or publish this result of -json")
	f.StringVar(&o.record, "gate", "", "measure the row ratios, and compare it with this result of -json")
	f.BoolVar(&o.prepare, "prepare", false, "build the programs and make the files of all rows, and measure nothing")
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
	o.size(*page)
	names := o.named(split(*only))
	l := &o.bench.Load
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
	return o, errors.Join(o.choose(names), o.checkServers())
}

// size sets the load.
func (o *options) size(page bool) {
	switch {
	case o.quick:
		o.bench.Load = rows.Quick()
	case page || o.publish != "":
		o.bench.Load = rows.Page()
	default:
		o.bench.Load = rows.Full()
	}
}

// named returns the rows to measure, of which some options require others.
func (o *options) named(only []string) []string {
	switch {
	case o.publish != "":
		o.html, o.flames = filepath.Join(o.published(), "curves.html"), o.published()
		if len(only) == 0 {
			for _, r := range rows.All() {
				if r.Name != "soak" {
					only = append(only, r.Name)
				}
			}
		}
	case o.record != "":
		only = []string{"ratios"}
	case o.html != "" && len(only) == 0:
		only = []string{"curves"}
	}
	return only
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
	defer o.bench.Close()
	r, err := o.report(ctx, stderr)
	if err == nil {
		err = o.print(r, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
	}
	switch {
	case o.record != "" && err != nil:
		return gateCode(err)
	case err != nil || len(r.Errors) > 0:
		return 1
	}
	return 0
}

// report measures, or reads an earlier result, and publishes.
func (o *options) report(ctx context.Context, stderr io.Writer) (*report, error) {
	if o.prepare {
		return new(report), o.bench.Prepare(ctx)
	}
	if o.from != "" {
		r, err := readReport(o.from)
		if err != nil {
			return r, err
		}
		if !r.Quick {
			r.Goals = goals(r.Results)
		}
		return r, o.write(r)
	}
	r := &report{
		Commit: commit(), Began: time.Now(), Machine: lookAround(&o.bench), Load: describe(&o.bench.Load), Quick: o.quick,
	}
	if o.publish != "" || o.budgets {
		r.add(stderr, o.budget(ctx, r))
	}
	if !o.budgets {
		o.run(ctx, r, stderr)
	}
	r.Took = time.Since(r.Began)
	return r, o.write(r)
}

// print writes the result for the reader.
func (o *options) print(r *report, stdout io.Writer) error {
	switch {
	case o.prepare:
		return nil
	case o.record != "":
		old, err := readReport(o.record)
		if err != nil {
			return err
		}
		return gate(stdout, old.Results, r.Results)
	case o.budgets:
		return r.budgets(stdout)
	case o.json:
		return r.json(stdout)
	}
	return r.table(stdout)
}

// run measures the rows. An error does not stop the other rows.
func (o *options) run(ctx context.Context, r *report, stderr io.Writer) {
	for _, row := range o.rows {
		if ctx.Err() != nil {
			r.add(stderr, fmt.Errorf("stopped before the row %s", row.Name))
			break
		}
		began := time.Now()
		rs, err := row.Run(ctx, &o.bench)
		r.Results = append(r.Results, rs...)
		if err != nil {
			r.add(stderr, fmt.Errorf("%s: %w", row.Name, err))
		}
		o.bench.Log("%s took %v", row.Name, time.Since(began).Round(time.Second))
		if o.publish != "" { // so that a run that is stopped has results
			r.add(stderr, r.save(o.resultFile()))
		}
	}
	if !o.quick {
		r.Goals = goals(r.Results)
	}
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
