package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestRollingRestart ends and starts three hubs one after the other, twice, while callers read
// streams and send messages with keys. A caller that asks another hub after an error notices
// nothing: it gets an answer, and each event once.
//
// PARLEY_ROLLING_STREAMS and PARLEY_ROLLING_SENDERS are the numbers of callers.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	streams, senders := setting(t, "PARLEY_ROLLING_STREAMS", 16), setting(t, "PARLEY_ROLLING_SENDERS", 4)
	c := newCampaign(t, onNothing(t))
	c.patience, c.watchEvery, c.failures = time.Minute, 5*time.Second, 2*hubs
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin, enough := context.WithCancel(ctx)
	defer enough()
	live := []load{{name: "live stream", agent: "slow", text: fixed("4")}}
	var callers sync.WaitGroup
	for i := range streams {
		callers.Go(func() { c.caller(ctx, begin, caller{fmt.Sprintf("stream-%d", i), 0, live}) })
	}
	for i := range senders {
		callers.Go(func() { c.caller(ctx, begin, caller{fmt.Sprintf("sender-%d", i), 0, loads[:1]}) })
	}
	for range 2 {
		for _, n := range c.nodes {
			if err := n.end(); err != nil {
				t.Errorf("hub %s: %v", n.id, err)
			}
			if err := n.begin(); err != nil {
				t.Fatal(err)
			}
			if err := c.members(ctx); err != nil {
				t.Fatal(err)
			}
			t.Logf("%8.3f s: hub %s was restarted", c.now().Seconds(), n.id)
		}
	}
	enough()
	defer time.AfterFunc(settling, cancel).Stop()
	callers.Wait()
	c.check(ctx)
	c.checkLists()
	resumed := 0
	for _, j := range c.jobs {
		if !j.load.blocks {
			resumed += j.resumed
		}
	}
	t.Logf("%v, %d streams were resumed, %d operations, in %v", c.tasks, resumed, c.ops, c.now().Round(time.Second))
	if resumed == 0 {
		t.Error("no stream was interrupted")
	}
}
