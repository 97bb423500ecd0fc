package crash

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// settling is the time limit for open tasks and notifications after the last fault of a round.
const settling = 2 * time.Minute

// campaign is a hub with a mixed load at one broker, and the faults that it gets.
type campaign struct {
	*busSystem

	book  *ledger
	hooks *hooks
	kinds []faultKind
	// filled is set after the first full disk.
	filled atomic.Bool
	// lasting are the faults that have not ended, by name.
	lasting map[string]*lastingFault
	slowest time.Duration // the longest time between the last fault of a round and the last end
	found   []error
}

// result is the outcome of a campaign at one broker.
type result struct {
	broker        string
	faults, tasks map[string]int
	flaws         map[flaw]int
	failed        int // tasks that the design lets fail
	slowest       time.Duration
}

// TestCampaign runs a mixed load at three brokers, one of them only each night, while faults of all kinds
// happen to hubs, workers, programs, brokers, connections, clocks, disks and webhooks. In the end it compares
// the ledger of callers and programs with the tasks of the hub.
//
// PARLEY_CAMPAIGN_FAULTS is the number of faults at each broker, PARLEY_CAMPAIGN_SEED the seed of
// their plan, which is the same in each run otherwise.
func TestCampaign(t *testing.T) {
	t.Parallel()
	n, seed := number(t, "PARLEY_CAMPAIGN_FAULTS", len(faultKinds)), number(t, "PARLEY_CAMPAIGN_SEED", 31)
	t.Logf("PARLEY_CAMPAIGN_SEED=%d PARLEY_CAMPAIGN_FAULTS=%d", seed, n)
	var mu sync.Mutex
	var results []result
	t.Cleanup(func() { t.Log(table(results)) })
	for name, start := range map[string]func(*testing.T) *broker{
		"Embedded": onEmbedded, "RabbitMQ": onRabbit,
		"NATS": func(t *testing.T) *broker { return onNATS(t, natstest.Debian(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "RabbitMQ" {
				testenv.Nightly(t, "a campaign that starts RabbitMQ again and again")
			}
			r := runCampaign(t, start(t), uint64(seed), n) //nolint:gosec // positive
			r.broker = name
			mu.Lock()
			defer mu.Unlock()
			results = append(results, r)
		})
	}
}

func runCampaign(t *testing.T, b *broker, seed uint64, n int) result {
	t.Helper()
	c := &campaign{busSystem: newBusSystem(t, b), lasting: map[string]*lastingFault{}}
	c.book = openLedger(t, c.record)
	c.hooks = startHooks(t, c.book)
	c.choose()
	all := planOf(seed, n, c.kinds)
	for round := 0; len(all) > 0 && !t.Failed(); round++ {
		size := min(roundSize, len(all))
		c.round(round, all[:size])
		all = all[size:]
	}
	return c.finalResult()
}

// roundSize is the number of faults after which all tasks must end.
const roundSize = 40

// round runs the load while the faults happen, and waits until all tasks have ended.
func (c *campaign) round(number int, all []strike) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	begin, enough := context.WithCancel(ctx)
	defer enough()
	over := c.gatherMixed(ctx, begin, fmt.Sprintf("r%d-", number))
	for i := range all {
		c.strike(ctx, &all[i])
	}
	c.calm()
	enough()
	calmed := time.Now()
	defer time.AfterFunc(settling, cancel).Stop()
	<-over
	if err := c.hooks.await(ctx); err != nil {
		c.t.Error(err)
		c.found = append(c.found, err)
	}
	c.slowest = max(c.slowest, time.Since(calmed))
	for _, err := range c.crowd.violations()[c.crowd.shown:] {
		c.t.Error(err)
		c.crowd.shown++
	}
}

// gatherMixed lets callers begin tasks until begin ends, like gather.
func (c *campaign) gatherMixed(ctx, begin context.Context, prefix string) <-chan struct{} {
	c.crowd.url, c.crowd.direct, c.crowd.prefix = "http://"+c.front.Addr(), "http://"+c.addr, prefix
	c.crowd.back = func() <-chan struct{} { return nil }
	c.crowd.next, c.crowd.check = c.nextMixed, c.finish
	over := make(chan struct{})
	go func() {
		defer close(over)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { c.sendInOrder(ctx, begin) })
		c.crowd.run(ctx, begin, len(loads))
	}()
	return over
}

// finalResult kills the hub once more, audits the ledger, and ends all processes.
func (c *campaign) finalResult() result {
	c.t.Helper()
	c.hub.Kill()
	c.startHub()
	lines := readLedger(c.t, c.record)
	found := append(checkLedger(lines, c.stored(lines)), checkOrder(lines)...)
	for _, err := range found {
		c.t.Error(err)
	}
	found = append(append(found, c.found...), c.crowd.violations()...)
	r := result{faults: c.done, tasks: map[string]int{}, flaws: map[flaw]int{}, slowest: c.slowest}
	for _, err := range found {
		r.flaws[flawOf(err)]++
	}
	for i := range lines {
		if e := &lines[i]; e.Op == opEnd {
			r.tasks[e.Load]++
			if e.State == "FAILED" && !strings.HasSuffix(e.Load, "fails") {
				r.failed++
			}
		}
	}
	for _, p := range c.workers {
		c.await(p.Process) // before that, a signal kills it
	}
	c.stop()
	return r
}

// stored reads all tasks of the ledger from the hub. Tasks that only the hub knows have no
// content.
func (c *campaign) stored(lines []line) map[string]*taskJSON {
	c.t.Helper()
	all := map[string]*taskJSON{}
	get := func(path string, into any) error {
		return hubtest.Call(c.t.Context(), hubtest.Request{URL: "http://" + c.addr + "/v1/a2a/tasks" + path}, into)
	}
	for token, first := "", true; first || token != ""; first = false {
		var page struct {
			Tasks         []taskJSON
			NextPageToken string
		}
		if err := get("?"+url.Values{"pageSize": {"100"}, "pageToken": {token}}.Encode(), &page); err != nil {
			c.t.Fatal(err)
		}
		for i := range page.Tasks {
			all[page.Tasks[i].ID] = &page.Tasks[i]
		}
		token = page.NextPageToken
	}
	for i := range lines {
		if id := lines[i].Task; lines[i].Op == opEnd {
			t := new(taskJSON)
			if err := get("/"+id+"?historyLength=100", t); err != nil {
				c.t.Errorf("get task %s: %v", id, err)
				delete(all, id)
				continue
			}
			all[id] = t
		}
	}
	return all
}

// table describes the results.
func table(results []result) string {
	var b strings.Builder
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.broker, b.broker) })
	rows := func(title string, of func(*result) map[string]int) {
		keys := map[string]bool{}
		for i := range results {
			for k := range of(&results[i]) {
				keys[k] = true
			}
		}
		fmt.Fprintf(&b, "\n%-22s", title)
		for i := range results {
			fmt.Fprintf(&b, "%12s", results[i].broker)
		}
		total := 0
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprintf(&b, "\n  %-20s", k)
			for i := range results {
				n := of(&results[i])[k]
				total += n
				fmt.Fprintf(&b, "%12d", n)
			}
		}
		fmt.Fprintf(&b, "\n  %-20s%12d", "all", total)
	}
	rows("faults", func(r *result) map[string]int { return r.faults })
	rows("tasks", func(r *result) map[string]int { return r.tasks })
	rows("flaws", func(r *result) map[string]int {
		return map[string]int{
			"lost": r.flaws[lost], "stuck": r.flaws[stuck], "repeated": r.flaws[repeated], "gaps": r.flaws[gap], "unordered": r.flaws[unordered], "others": r.flaws[""],
		}
	})
	rows("beside", func(r *result) map[string]int {
		return map[string]int{"failed as designed": r.failed, "slowest end, ms": int(r.slowest.Milliseconds())}
	})
	return b.String()
}
