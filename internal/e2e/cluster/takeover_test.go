package cluster

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestTakeoverTime kills hubs with open tasks one after the other, and logs the times after which the
// other hubs have continued the tasks: by the rules of a restart, the tasks fail then.
//
// PARLEY_TAKEOVERS is the number of kills. The design wants a p99 below the lease and two seconds;
// a busy machine fails nothing here.
func TestTakeoverTime(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, onNothing(t))
	all := c.nodes
	var took []time.Duration
	for round := range setting(t, "PARLEY_TAKEOVERS", 1) {
		if err := c.members(t.Context()); err != nil {
			t.Fatal(err)
		}
		victim := all[round%len(all)]
		var jobs []*job
		c.nodes = []*node{victim}
		for i := range 20 {
			j := &job{c: c, load: &load{name: "takeover", agent: "once", effects: onlyOnce}, name: fmt.Sprintf("t%d-%d", round, i), text: "600", brief: true}
			for j.id == "" {
				if err := j.begin(t.Context()); errors.Is(err, errViolation) {
					t.Fatal(err)
				}
			}
			jobs = append(jobs, j)
		}
		c.nodes = slices.DeleteFunc(slices.Clone(all), func(n *node) bool { return n == victim })
		victim.Kill()
		killed := c.now()
		var wg sync.WaitGroup
		for _, j := range jobs {
			j.brief = false
			wg.Go(func() {
				if err := j.follow(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, j := range jobs {
			took = append(took, j.history.all()[len(j.history.all())-1].end-killed)
		}
		c.nodes = all
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(took)
	t.Logf("%d tasks were taken over after %v (median), %v (p99), %v at most",
		len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
}
