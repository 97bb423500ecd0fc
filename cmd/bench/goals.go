package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// goal is a goal of RESULTS.md with its result.
type goal struct {
	What string  `json:"what"`
	Want string  `json:"want"`
	Got  float64 `json:"got"`
	Met  bool    `json:"met"`
}

// judge collects the goals whose results were measured.
type judge struct {
	results []rows.Result
	goals   []goal
}

// goals compares results with their goals. A goal is omitted if one of its numbers was not
// measured.
func goals(rs []rows.Result) []goal {
	j := &judge{results: rs}
	j.blocking()
	j.streams()
	j.lookups()
	j.remote()
	j.queue()
	j.largeBodies()
	j.features()
	j.slowDisk()
	for _, w := range []struct {
		row, what string
		most      float64
	}{
		{"idle-streams", "memory of an idle stream in KiB", 40},
		{"recovery", "milliseconds from exec to ready", 2_000},
		{"startup", "milliseconds from exec to ready", 500},
		{"idle-memory", "memory of an idle hub in MiB", 80},
	} {
		for i := range rs {
			if x := &rs[i]; x.Row == w.row && x.Left == "" && !strings.HasPrefix(x.Case, "all done") {
				j.atMost(w.row+": "+w.what+" ("+x.Case+")", x.Value, w.most)
			}
		}
	}
	return j.goals
}

func (j *judge) atLeast(what string, got, want float64) {
	j.goals = append(j.goals, goal{what, fmt.Sprintf("at least %g", want), got, got >= want})
}

func (j *judge) atMost(what string, got, want float64) {
	j.goals = append(j.goals, goal{what, fmt.Sprintf("at most %g", want), got, got <= want})
}

// times judges the ratio of our value to a peer's.
func (j *judge) times(what string, ours, peer *rows.Result, want float64) {
	if ours != nil && peer != nil && peer.Value > 0 {
		j.atLeast(fmt.Sprintf("%s: %s ÷ %s", what, ours.Server, peer.Server), ours.Value/peer.Value, want)
	}
}

// remote judges the latency that a hub in between adds to the median: at most its two commits
// and half a millisecond.
func (j *judge) remote() {
	peer, own, hub := find(j.results, "remote", "direct", serve.ParleyMemory),
		find(j.results, "remote", "direct", serve.ParleySQLite), find(j.results, "remote", "through a hub", serve.ParleySQLite)
	if peer != nil && own != nil && hub != nil {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1_000 }
		j.atMost("remote: milliseconds added to p50 beside two commits", ms(hub.P50-own.P50), 0.5)
	}
}

// largeBodies judges the memory of a hub with large messages, and the latency of a small one beside
// them.
func (j *judge) largeBodies() {
	for i := 1; i < len(j.results); i++ {
		idle, beside := &j.results[i-1], &j.results[i]
		if beside.Row != "large-bodies" || idle.Row != beside.Row || !strings.HasSuffix(idle.Case, ", none") || idle.P99 == 0 {
			continue
		}
		j.atMost("large-bodies: MiB resident ("+beside.Case+")", beside.Value, 600)
		j.atMost("large-bodies: p99 of small sends beside idle ("+beside.Case+")", float64(beside.P99)/float64(idle.P99), 5)
	}
}

// features judges the audit log, which may cost a send a twentieth of its processor time.
func (j *judge) features() {
	if x := find(j.results, "features", "audit on", "parley serve"); x != nil && x.CostRatio > 0 {
		j.atMost("features: CPU of a send, audit on ÷ plain", x.CostRatio, 1.05)
	}
}

// slowDisk judges the rate with a slow disk against that of connections which wait for two fsyncs
// each, and the slowest calls against the time of an fsync.
func (j *judge) slowDisk() {
	for i := range j.results {
		x := &j.results[i]
		_, text, _ := strings.Cut(x.Case, " + ")
		delay, err := time.ParseDuration(text)
		if x.Row != "slow-disk" || err != nil || delay < 20*time.Millisecond {
			continue
		}
		j.atMost("slow-disk: p99 ÷ fsync ("+x.Case+")", float64(x.P99)/float64(delay), 5)
		j.atLeast("slow-disk: sends for each fsync time ("+x.Case+")", x.Value*delay.Seconds(), 16)
	}
}

// queue judges the cost of an agent at a queue relative to bare requests over its broker.
func (j *judge) queue() {
	for i := range j.results {
		bare := &j.results[i]
		hub := find(j.results, "queue", bare.Case, serve.ParleySQLite)
		if bare.Row != "queue" || bare.Server != serve.Replier || hub == nil || hub.Value == 0 || bare.P50 == 0 {
			continue
		}
		if strings.HasSuffix(bare.Case, ", 1 at a time") {
			j.atMost("queue: p50 beside bare requests ("+bare.Case+")", float64(hub.P50)/float64(bare.P50), 2)
		} else {
			j.atMost("queue: bare requests ÷ answers ("+bare.Case+")", bare.Value/hub.Value, 2)
		}
	}
}

func (j *judge) blocking() {
	at := func(k serve.Kind) *rows.Result { return find(j.results, "blocking", "", k) }
	ours := at(serve.ParleySQLite)
	j.times("blocking", ours, at(serve.GoSDK), 20)
	j.times("blocking", ours, at(serve.JSSDK), 6.5)
	j.times("blocking", ours, at(serve.Bare), 0.4)
	j.times("blocking", at(serve.ParleyMemory), at(serve.Bare), 0.75)
}

// streams judges the rows whose cases are numbers.
func (j *judge) streams() {
	const few, many = "1,000 chunks", "10,000 chunks"
	at := func(what string, k serve.Kind) *rows.Result { return find(j.results, "stream", what, k) }
	for _, k := range []serve.Kind{serve.ParleySQLite, serve.ParleyMemory} {
		j.times("stream of 1,000", at(few, k), at(few, serve.GoSDK), 50)
		if a, b := at(few, k), at(many, k); a != nil && b != nil && a.CPU > 0 {
			j.atMost(fmt.Sprintf("stream: CPU per chunk of %s, 10,000 ÷ 1,000", k), float64(b.CPU)/float64(a.CPU), 1.3)
		}
	}
	for _, x := range j.results {
		if x.Row == "fanout" && x.Left == "" && x.Server == serve.ParleySQLite {
			j.times("fanout", &x, find(j.results, "fanout", x.Case, serve.GoSDK), 4)
		}
	}
}

func (j *judge) lookups() {
	const k = serve.ParleySQLite
	for _, method := range []string{"GetTask", "ListTasks"} {
		few := find(j.results, "lookup", method+" of 10,000", k)
		many := find(j.results, "lookup", method+" of 1,000,000", k)
		if few == nil || many == nil {
			continue
		}
		j.atMost("lookup: "+method+" p50, 1,000,000 ÷ 10,000 tasks", float64(many.P50)/float64(few.P50), 1.3)
		j.atMost("lookup: "+method+" p99, 1,000,000 ÷ 10,000 tasks", float64(many.P99)/float64(few.P99), 1.3)
	}
}
