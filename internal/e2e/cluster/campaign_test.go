package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// settling is the time limit for open tasks and notifications after the last fault of a round.
const settling = 3 * time.Minute

// roundSize is the number of faults after which all tasks must end.
const roundSize = 40

// clients is the number of callers of a campaign.
const clients = 8

// campaign is hubs under load, and the faults that they get.
type campaign struct {
	*system

	started    time.Time
	hooks      *hooks
	kinds      []faultKind
	loads      []load
	lasting    map[string]*lastingFault
	starts     sync.WaitGroup
	done       map[string]int // faults, by kind
	watchEvery time.Duration
	patience   time.Duration
	// failures is the number of requests of a job that may fail one after the other; zero means any.
	failures int

	mu    sync.Mutex // guards the fields below
	jobs  []*job     // of this round
	tasks map[string]int
	ids   map[string]int // the owners of the tasks of all rounds, by id
	found []error
	ops   int
}

func (c *campaign) now() time.Duration { return time.Since(c.started) }

func (c *campaign) anyHub() *node { return c.nodes[rand.IntN(len(c.nodes))] }

func (c *campaign) violated(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found = append(c.found, err); len(c.found) <= 10 {
		c.t.Error(err)
	}
}

// setting returns a positive number from the environment, or fallback.
func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", name, s)
	}
	return n
}

// TestCampaign runs three hubs on a database, behind a pooler without a broker and with RabbitMQ, and on three
// databases, while faults of all kinds happen to hubs, connections, databases, the broker and clocks, and owners move.
// Each night it runs with each broker in turn, and the faults of three databases are of all kinds, too. Clients use random hubs. A checker decides whether their histories are possible.
//
// PARLEY_CLUSTER_FAULTS is the number of faults with each broker, PARLEY_CLUSTER_SEED the seed of
// their plan, which is the same in each run otherwise: a failure then has to do with the change.
func TestCampaign(t *testing.T) {
	t.Parallel()
	n, seed := setting(t, "PARLEY_CLUSTER_FAULTS", 20), setting(t, "PARLEY_CLUSTER_SEED", 31)
	t.Logf("PARLEY_CLUSTER_SEED=%d PARLEY_CLUSTER_FAULTS=%d", seed, n)
	for name, start := range map[string]func(*testing.T) *broker{
		"Alone": onNothing, "Pooler": onPooler, "Databases": onDatabases(3), "Embedded": onEmbedded, "NATS": onNATS, "Cluster": onCluster, "RabbitMQ": onRabbit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planning{uint64(seed), n, nil} //nolint:gosec // positive
			switch name {
			case "Pooler", "RabbitMQ":
			case "Databases":
				if os.Getenv(testenv.Night) != "1" {
					p.n, p.only = min(n, 8), []string{"move owner", "database away", "kill hub", "freeze hub"}
				}
			default:
				testenv.Nightly(t, "a campaign with each broker")
			}
			runCampaign(t, start(t), p)
		})
	}
}

type planning struct {
	seed uint64
	n    int
	only []string // the kinds of faults; nil means all
}

func newCampaign(t *testing.T, b *broker) *campaign {
	t.Helper()
	return &campaign{
		system: startSystem(t, b), started: time.Now(), hooks: startHooks(t), loads: loads, lasting: map[string]*lastingFault{},
		done: map[string]int{}, tasks: map[string]int{}, ids: map[string]int{}, watchEvery: 200 * time.Millisecond, patience: patience,
	}
}

func runCampaign(t *testing.T, b *broker, p planning) {
	t.Helper()
	c := newCampaign(t, b)
	if b.addr != "" {
		c.loads = slices.Concat(loads, queueLoads)
	}
	for _, k := range faultKinds {
		if (p.only == nil || slices.Contains(p.only, k.name)) && (k.needs == nil || k.needs(c)) {
			c.kinds = append(c.kinds, k)
		}
	}
	all := planOf(p.seed, p.n, c.kinds)
	for round := 0; len(all) > 0 && !t.Failed(); round++ {
		size := min(roundSize, len(all))
		c.round(round, all[:size])
		all = all[size:]
	}
	if !t.Failed() {
		c.quiet()
	}
	c.checkLists()
	t.Logf("faults: %v", c.done)
	if c.hasShards() {
		done := 0
		for _, n := range c.nodes {
			done += strings.Count(n.Output(), "an owner has moved")
		}
		t.Logf("%d moves were carried out by the hub that took the order", done)
	}
	t.Logf("tasks: %v; %d operations, %d violations, in %v", c.tasks, c.ops, len(c.found), c.now().Round(time.Second))
}

// round runs the load while the faults happen, waits until all tasks have ended, and checks their
// histories.
func (c *campaign) round(number int, all []strike) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	begin, enough := context.WithCancel(ctx)
	defer enough()
	c.jobs = nil
	var callers sync.WaitGroup
	for i := range clients {
		callers.Go(func() { c.caller(ctx, begin, caller{fmt.Sprintf("r%d-c%d", number, i), i % c.owners(), c.loads}) })
	}
	for i := range all {
		c.strike(ctx, &all[i])
	}
	c.calm()
	enough()
	c.t.Logf("%8.3f s: no more faults", c.now().Seconds())
	defer time.AfterFunc(settling, cancel).Stop()
	callers.Wait()
	c.starts.Wait()
	c.t.Logf("%8.3f s: %d tasks have ended", c.now().Seconds(), len(c.jobs))
	if err := c.members(ctx); err != nil {
		c.violated(err)
		return
	}
	if err := c.moved(ctx); err != nil {
		c.violated(err)
		return
	}
	c.check(ctx)
	c.t.Logf("%8.3f s: checked", c.now().Seconds())
}

// caller is a client with the kinds of its jobs.
type caller struct {
	name  string
	owner int
	loads []load
}

// caller performs jobs until begin ends.
func (c *campaign) caller(ctx, begin context.Context, who caller) {
	for i := rand.IntN(len(who.loads)); begin.Err() == nil; i++ {
		l := &who.loads[i%len(who.loads)]
		j := &job{c: c, load: l, name: fmt.Sprintf("%s-%d", who.name, i), owner: who.owner}
		if j.text = l.text(j.name); l.cancels {
			j.cancelAt = 2 + rand.IntN(4)
		}
		err := j.run(ctx)
		if err != nil {
			j.err = err
			c.violated(fmt.Errorf("job %s (%s): %w\n%s", j.name, l.name, err, explain(j.history.all(), nil)))
		}
		c.mu.Lock()
		c.jobs = append(c.jobs, j)
		if j.id != "" {
			c.ids[j.id] = j.owner
		}
		c.tasks[l.name]++
		c.mu.Unlock()
	}
}

// check checks the histories of the jobs of a round.
func (c *campaign) check(ctx context.Context) {
	c.t.Helper()
	effects := c.effects()
	for _, j := range c.jobs {
		if j.err != nil {
			continue
		}
		if err := c.checkJob(ctx, j, effects[j.id]); err != nil {
			log, _ := c.log(ctx, c.nodes[0], j)
			moments, _ := fold(log)
			c.violated(fmt.Errorf("job %s (%s), task %s: %w%s", j.name, j.load.name, j.id, err, explain(j.history.all(), moments)))
		}
	}
}

func (c *campaign) checkJob(ctx context.Context, j *job, effects int) error {
	log, err := c.log(ctx, c.nodes[0], j)
	if err != nil {
		return err
	}
	for _, n := range c.nodes[1:] {
		other, err := c.log(ctx, n, j)
		if err != nil {
			return err
		}
		if !slices.Equal(log, other) {
			return fmt.Errorf("hub %s shows %d events, hub a %d, or others", n.id, len(other), len(log))
		}
	}
	for _, ev := range j.log {
		if ev.ID != "1" && !slices.Contains(log, ev) {
			return fmt.Errorf("event %s, which the caller has read, is not in the log: %s", ev.ID, ev.Data)
		}
	}
	moments, err := fold(log)
	if err == nil {
		err = checkLog(moments, j.answers)
	}
	if err != nil {
		return err
	}
	if err := checkProgress(log); err != nil {
		return err
	}
	acts := j.history.all()
	var got taskJSON
	if err := hubtest.Call(ctx, hubtest.Request{URL: c.anyHub().URL() + "/v1/a2a/tasks/" + j.id, Header: c.as(j.owner)}, &got); err != nil {
		return err
	}
	acts = append(acts, act{kind: "last get", begin: c.now(), end: c.now(), least: moments[len(moments)-1].version})
	c.ops += len(acts)
	if err := checkActs(acts, moments); err != nil {
		return err
	}
	if effects > max(j.load.effects, 0) {
		return fmt.Errorf("its program was executed %d times, %d times at most are allowed", effects, j.load.effects)
	}
	if j.load.hook {
		got, err := c.hooks.await(ctx, j.name, log)
		if err == nil {
			err = checkNotifications(got, log)
		}
		if err != nil {
			return err
		}
	}
	return j.checkResult(&got)
}

// log reads the events of a task at a hub. The first one is the message, which no later stream repeats.
func (c *campaign) log(ctx context.Context, n *node, j *job) (all []hubtest.Event, err error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodPost, URL: n.URL() + "/v1/a2a/tasks/" + j.id + ":subscribe", Header: slices.Concat([]string{"Last-Event-ID", "1"}, c.as(j.owner)),
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("log of task %s at hub %s: %s", j.id, n.id, resp.Status)
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			break // the end of the log
		}
		all = append(all, hubtest.Event{ID: ev.ID, Data: ev.Data})
	}
	if len(all) == 0 {
		return nil, errors.New("the log has no events")
	}
	return all, nil
}

// effects returns the number of executions of programs by task.
func (c *campaign) effects() map[string]int {
	c.t.Helper()
	b, err := os.ReadFile(c.record)
	if err != nil {
		c.t.Fatal(err)
	}
	all := map[string]int{}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			all[fields[1]]++
		}
	}
	return all
}

// checkLists checks that each hub lists the tasks of the callers and no other one: a message with a
// key has one task.
func (c *campaign) checkLists() {
	c.t.Helper()
	for _, n := range c.nodes {
		listed := map[string]int{}
		for owner := range c.owners() {
			c.list(n, owner, listed)
		}
		if !maps.Equal(listed, c.ids) {
			c.violated(wrong("hub %s lists %d tasks, the callers have %d", n.id, len(listed), len(c.ids)))
		}
	}
}

// list adds the tasks of an owner that a hub lists.
func (c *campaign) list(n *node, owner int, listed map[string]int) {
	c.t.Helper()
	for token, first := "", true; first || token != ""; first = false {
		var page struct {
			Tasks         []taskJSON
			NextPageToken string
		}
		r := hubtest.Request{URL: n.URL() + "/v1/a2a/tasks?pageSize=100&pageToken=" + token, Header: c.as(owner)}
		if err := hubtest.Call(c.t.Context(), r, &page); err != nil {
			c.t.Fatal(err)
		}
		for i := range page.Tasks {
			listed[page.Tasks[i].ID] = owner
		}
		token = page.NextPageToken
	}
}
