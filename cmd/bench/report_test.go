package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// story returns a report with every kind of content.
func story() *report {
	rs := []rows.Result{
		{Row: "blocking", Server: serve.Bare, Value: 50_000, Unit: "sends/s", Runs: []float64{1, 2}, Spread: 0.021, P50: time.Millisecond, P99: 12345 * time.Microsecond, CPU: 21600, Allocs: 57.13},
		{Row: "blocking", Server: serve.GoSDK, Value: 1_000, Unit: "sends/s"},
		{Row: "blocking", Server: serve.JSSDK, Left: "there is no node on this machine"},
		{Row: "blocking", Server: serve.ParleySQLite, Value: 21_000, Unit: "sends/s"},
		{Row: "stream", Case: "1,000 chunks", Server: serve.GoSDK, Value: 340, Unit: "chunks/s"},
		{Row: "stream", Case: "1,000 chunks", Server: serve.ParleySQLite, Value: 3_400, Unit: "chunks/s", CPU: 10},
		{Row: "stream", Case: "10,000 chunks", Server: serve.ParleySQLite, Value: 3_000, Unit: "chunks/s", CPU: 12},
		{Row: "lookup", Case: "GetTask of 10,000", Server: serve.ParleySQLite, Value: 1, P50: 100, P99: 100},
		{Row: "lookup", Case: "GetTask of 1,000,000", Server: serve.ParleySQLite, Value: 1, P50: 120, P99: 140},
		{Row: "recovery", Case: "ready: 1", Server: serve.ParleySQLite, Value: 2_001, Unit: "ms"},
		{Row: "recovery", Case: "all done: 1", Server: serve.ParleySQLite, Value: 9_000, Unit: "ms"},
	}
	return &report{Results: rs, Goals: goals(rs), Errors: []string{"lookup: a wrong answer"}}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	got := map[string]bool{}
	for _, g := range story().Goals {
		got[g.What+", "+g.Want] = g.Met
	}
	want := map[string]bool{
		"blocking: parley-sqlite ÷ go-sdk, at least 20":                       true,
		"blocking: parley-sqlite ÷ bare, at least 0.4":                        true,
		"stream of 1,000: parley-sqlite ÷ go-sdk, at least 50":                false,
		"stream: CPU per chunk of parley-sqlite, 10,000 ÷ 1,000, at most 1.3": true,
		"lookup: GetTask p50, 1,000,000 ÷ 10,000 tasks, at most 1.3":          true,
		"lookup: GetTask p99, 1,000,000 ÷ 10,000 tasks, at most 1.3":          false,
		"recovery: milliseconds from exec to ready (ready: 1), at most 2000":  false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goals (-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := story().table(&b); err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		"blocking bare 50000 sends/s 2.1 % 1ms 12.3ms 21.6µs – 57.1 – –",
		"blocking js-sdk left out: there is no node on this machine",
		"blocking parley-sqlite 21000 sends/s – – – – – – – bare 0.42×, go-sdk 21×",
		"stream 1,000 chunks parley-sqlite 3400 chunks/s – – – 10ns – – – go-sdk 10×",
		"missed recovery: milliseconds from exec to ready (ready: 1): 2e+03, goal at most 2000",
		"ERROR lookup: a wrong answer",
	} {
		if !lines[want] {
			t.Errorf("the table has no line %q:\n%s", want, b.String())
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		7:                         "7ns",
		1234:                      "1.23µs",
		12345 * time.Microsecond:  "12.3ms",
		999_999 * time.Nanosecond: "1ms",
		3 * time.Second:           "3s",
	} {
		if got := short(d); got != want {
			t.Errorf("short(%d) = %s, want %s", d, got, want)
		}
	}
}
