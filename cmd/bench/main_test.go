package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestMain also runs the servers, because the bench starts its own program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		os.Exit(serveMain(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// runBench runs the bench in this process and returns its report.
func runBench(t *testing.T, args ...string) (report, string) {
	t.Helper()
	testenv.OS(t, "linux") // for /proc
	var out, log bytes.Buffer
	args = append([]string{"-quick", "-json", "-work", t.TempDir(), "-warmup", "20ms", "-duration", "100ms", "-runs", "1", "-idle", "50ms"}, args...)
	code := benchMain(t.Context(), args, &out, &log)
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("bench %v prints no report: %v\n%s", args, err, log.String())
	}
	if code != 0 || len(r.Errors) > 0 {
		t.Fatalf("bench %v = %d, errors %v\n%s", args, code, r.Errors, log.String())
	}
	return r, log.String()
}

// measured returns the lines of a report that have a number, as "row server".
func measured(t *testing.T, r *report) []string {
	t.Helper()
	var all []string
	for _, x := range r.Results {
		if x.Left != "" {
			t.Logf("%s %s %s: %s", x.Row, x.Case, x.Server, x.Left)
			continue
		}
		if x.Value <= 0 || x.Unit == "" {
			t.Errorf("%s %s of %s is %v %q", x.Row, x.Case, x.Server, x.Value, x.Unit)
		}
		if line := x.Row + " " + string(x.Server); !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

func TestQueue(t *testing.T) {
	t.Parallel()
	broker := natstest.Start(t, natstest.Debian(t))
	r, _ := runBench(t, "-only", "queue", "-brokers", broker.URL)
	if diff := cmp.Diff([]string{"queue parley-sqlite", "queue replier"}, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

// An agent at a queue may cost twice as much as bare requests.
func TestGoalsOfQueues(t *testing.T) {
	t.Parallel()
	line := func(conns string, k serve.Kind, value float64, p50 time.Duration) rows.Result {
		return rows.Result{Row: "queue", Case: "nats, " + conns + " at a time", Server: k, Value: value, P50: p50}
	}
	got := goals([]rows.Result{
		line("64", serve.Replier, 1_000, time.Millisecond), line("64", serve.ParleySQLite, 400, 9*time.Millisecond),
		line("1", serve.Replier, 100, time.Millisecond), line("1", serve.ParleySQLite, 10, 2*time.Millisecond),
	})
	want := []goal{
		{"queue: bare requests ÷ answers (nats, 64 at a time)", "at most 2", 2.5, false},
		{"queue: p50 beside bare requests (nats, 1 at a time)", "at most 2", 2, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
}

func TestRowsOfPeers(t *testing.T) {
	t.Parallel()
	r, _ := runBench(t, "-only", "blocking,stream", "-servers", "bare,go-sdk,parley-memory,parley-sqlite")
	want := []string{
		"blocking bare", "blocking go-sdk", "blocking parley-memory", "blocking parley-sqlite",
		"stream go-sdk", "stream parley-memory", "stream parley-sqlite",
	}
	if diff := cmp.Diff(want, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
	for _, x := range r.Results {
		if x.Row == "blocking" && (x.P50 <= 0 || x.P99 < x.P50 || x.Allocs <= 0) {
			t.Errorf("blocking %s: p50 %v, p99 %v, %v allocations", x.Server, x.P50, x.P99, x.Allocs)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "go")
	r, log := runBench(t, "-only", "large-bodies")
	if diff := cmp.Diff([]string{"large-bodies parley serve"}, measured(t, &r)); diff != "" || len(r.Results) != 4 {
		t.Errorf("%d measured lines, want 4 (-want +got):\n%s", len(r.Results), diff)
	}
	if n := strings.Count(log, " 4 accepted, 0 refused"); n != 2 {
		t.Errorf("large messages were accepted over %d bindings, want 2:\n%s", n, log)
	}
}

// Large messages may take 600 MiB, and make small ones five times as slow.
func TestGoalsOfLargeBodies(t *testing.T) {
	t.Parallel()
	line := func(name string, mib float64, p99 time.Duration) rows.Result {
		return rows.Result{Row: "large-bodies", Case: name, Value: mib, P99: p99}
	}
	got := goals([]rows.Result{
		line("HTTP, none", 90, time.Millisecond), line("HTTP, 100", 500, 6*time.Millisecond),
		line("gRPC, none", 90, time.Millisecond), line("gRPC, 100", 700, 4*time.Millisecond),
	})
	want := []goal{
		{"large-bodies: MiB resident (HTTP, 100)", "at most 600", 500, true},
		{"large-bodies: p99 of small sends beside idle (HTTP, 100)", "at most 5", 6, false},
		{"large-bodies: MiB resident (gRPC, 100)", "at most 600", 700, false},
		{"large-bodies: p99 of small sends beside idle (gRPC, 100)", "at most 5", 4, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	r, _ := runBench(t, "-only", "remote")
	want := []string{"remote parley-memory", "remote parley-sqlite"}
	if diff := cmp.Diff(want, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

func TestRowsOfJavaScript(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "node")
	testenv.Made(t, "cmd/bench/js/node_modules")
	r, _ := runBench(t, "-only", "blocking,stream", "-servers", "js-sdk")
	if diff := cmp.Diff([]string{"blocking js-sdk", "stream js-sdk"}, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

// TestRowsOfOthers tests a server of each way to start one: a script, and a program to build.
func TestRowsOfOthers(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "go")
	testenv.Made(t, "internal/e2e/interop/python/v1/.venv")
	r, _ := runBench(t, "-only", "blocking", "-servers", "python-sdk,trpc-a2a-go")
	if diff := cmp.Diff([]string{"blocking python-sdk", "blocking trpc-a2a-go"}, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "go")
	r, _ := runBench(t, "-only", "gateway,features")
	want := []string{"features parley serve", "gateway httputil.ReverseProxy", "gateway parley serve", "gateway parley-memory"}
	if diff := cmp.Diff(want, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
	for _, x := range r.Results {
		switch compared := x.Beside != ""; {
		case x.Left != "":
		case x.Row == "features" && (x.Case == "plain") == compared:
			t.Errorf("the case %s is compared: %v", x.Case, compared)
		case x.Row == "features" && compared && x.Ratio <= 0:
			t.Errorf("the case %s has the ratio %v", x.Case, x.Ratio)
		}
	}
}

// An audited send may cost a twentieth more, and a send may wait for five fsyncs.
func TestGoalsOfFeatures(t *testing.T) {
	t.Parallel()
	got := goals([]rows.Result{
		{Row: "features", Case: "audit on", Server: "parley serve", CostRatio: 1.1},
		{Row: "slow-disk", Case: "fsync + 0s", Server: "parley serve", Value: 9_000, P99: time.Second},
		{Row: "slow-disk", Case: "fsync + 20ms", Server: "parley serve", Value: 1_000, P99: 90 * time.Millisecond},
	})
	want := []goal{
		{"features: CPU of a send, audit on ÷ plain", "at most 1.05", 1.1, false},
		{"slow-disk: p99 ÷ fsync (fsync + 20ms)", "at most 5", 4.5, true},
		{"slow-disk: sends for each fsync time (fsync + 20ms)", "at least 16", 20, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
}

func TestRowsOfHubs(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "go")
	r, _ := runBench(t, "-only", "idle-streams,lookup,startup,recovery,idle-memory,soak", "-servers", "parley-sqlite", "-soak", "1")
	want := []string{
		"idle-memory parley serve", "idle-streams parley-sqlite", "lookup parley-sqlite",
		"recovery parley-sqlite", "soak parley-sqlite", "startup parley serve",
	}
	if diff := cmp.Diff(want, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

func TestRowsOfDatabases(t *testing.T) {
	t.Parallel()
	testenv.Tool(t, "go")
	pgtest.Need(t)
	r, _ := runBench(t, "-only", "blocking,stream,lookup,hubs", "-servers", "parley-postgres")
	want := []string{"blocking parley-postgres", "hubs parley serve", "lookup parley-postgres", "stream parley-postgres"}
	if diff := cmp.Diff(want, measured(t, &r)); diff != "" {
		t.Errorf("measured lines (-want +got):\n%s", diff)
	}
}

// TestFanOut tolerates machines on which the small load takes less time than the clock can
// measure.
func TestFanOut(t *testing.T) {
	t.Parallel()
	r, log := runBench(t, "-only", "fanout", "-servers", "parley-sqlite,go-sdk")
	if len(r.Results) != 2 {
		t.Errorf("results = %+v\n%s", r.Results, log)
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runBench(t, "-only", "blocking", "-servers", "parley-memory", "-profile", dir)
	for _, name := range []string{"parley-memory.cpu", "parley-memory.cpu.allocs"} {
		if info, err := os.Stat(dir + "/" + name); err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v, %v", name, info, err)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-only", "nothing"},
		{"-servers", "nobody"},
		{"-no-such-flag"},
		{"left", "over"},
	} {
		var out, log bytes.Buffer
		if code := benchMain(t.Context(), args, &out, &log); code != 2 || log.Len() == 0 || out.Len() > 0 {
			t.Errorf("bench %v = %d with %q and %q, want 2 with a complaint", args, code, out.String(), log.String())
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-only", "stream,blocking", "-servers", "bare", "-runs", "7", "-duration", "3s"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range o.rows {
		names = append(names, r.Name)
	}
	want := rows.Full()
	want.Runs, want.Duration = 7, 3*time.Second
	if diff := cmp.Diff(want, o.bench.Load); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	if got := strings.Join(names, " "); got != "blocking stream" {
		t.Errorf("rows = %s, want them in the order of the table", got)
	}
	if diff := cmp.Diff([]serve.Kind{serve.Bare}, o.bench.Kinds); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}
