package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// handovers is the number of times that a webhook may go back when its deliverer changes: once to the stored
// position, and once more for a request of the former deliverer that arrives late.
const handovers = 2

// hooked performs tasks with webhooks, some at a time.
func (c *campaign) hooked(ctx context.Context, name string, n int, l *load) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 60 {
		wg.Go(func() {
			for i := range next {
				j := &job{c: c, load: l, name: fmt.Sprintf("%s-%d", name, i)}
				j.text = l.text(j.name)
				if err := j.run(ctx); err != nil {
					j.err = err
					c.violated(fmt.Errorf("job %s: %w", j.name, err))
				}
				c.mu.Lock()
				c.jobs = append(c.jobs, j)
				c.mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// checkHooks checks the notifications of all jobs, and returns the number of those that were repeated.
func (c *campaign) checkHooks(ctx context.Context, most int) (repeated int, err error) {
	for _, j := range c.jobs {
		if j.err != nil {
			return 0, j.err
		}
		log, err := c.log(ctx, c.nodes[0], j)
		if err != nil {
			return 0, err
		}
		got, err := c.hooks.await(ctx, j.name, log)
		if err = errors.Join(err, checkNotifications(got, log), checkHandovers(got, log, most)); err != nil {
			return 0, fmt.Errorf("job %s: %w", j.name, err)
		}
		repeated += len(got) - len(log)
	}
	return repeated, nil
}

// delivered returns the number of notifications that a hub has delivered.
func (n *node) delivered(ctx context.Context) (int, error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{Method: http.MethodGet, URL: n.URL() + "/metrics"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(name, "parley_webhook_tries_total{") && strings.Contains(name, `outcome="accepted"`) {
			return strconv.Atoi(value)
		}
	}
	return 0, nil
}

// TestSharedHooks: three hubs share the webhooks of 300 tasks, and repeat none. Then one is killed, and a fourth
// joins, while tasks run at the others: each webhook gets all events in their order.
func TestSharedHooks(t *testing.T) {
	t.Parallel()
	c := newCampaign(t, onNothing(t))
	c.patience = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 3*settling)
	defer cancel()
	if err := c.members(ctx); err != nil {
		t.Fatal(err)
	}
	c.hooked(ctx, "short", 300, &load{name: "short", agent: "echo", text: func(name string) string { return name }, hook: true})
	if _, err := c.checkHooks(ctx, 0); err != nil {
		t.Fatal(err)
	}
	c.shares(ctx)

	c.jobs = nil
	killed := c.nodes[1]
	c.nodes = slices.Delete(slices.Clone(c.nodes), 1, 2)
	before := c.hooks.count()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.hooked(ctx, "long", 60, &load{name: "long", agent: "slow", text: fixed("15"), hook: true})
	}()
	defer func() { <-done }()
	if err := c.hooks.reach(ctx, before+120); err != nil {
		t.Fatal(err)
	}
	killed.Kill()
	at := time.Now()
	fourth := c.fourth()
	<-done
	c.nodes = append(c.nodes, fourth)
	repeated, err := c.checkHooks(ctx, 2*handovers)
	if err != nil {
		t.Fatal(err)
	}
	n, err := fourth.delivered(ctx)
	if err != nil || n == 0 {
		t.Errorf("the hub that joined has delivered %d notifications, %v", n, err)
	}
	var longest time.Duration
	for _, j := range c.jobs {
		longest = max(longest, c.hooks.longestPause(j.name, at))
	}
	t.Logf("after the kill, no webhook waited for longer than %v; %d notifications were repeated; the fourth hub delivered %d", longest.Round(time.Millisecond), repeated, n)
}

// fourth starts a hub that gets no tasks of callers yet.
func (c *campaign) fourth() *node {
	c.t.Helper()
	all := c.nodes
	n := c.join("d")
	c.nodes = all
	return n
}

// shares checks that each hub has delivered a fair share of the notifications.
func (c *campaign) shares(ctx context.Context) {
	c.t.Helper()
	var shares []int
	total := 0
	for _, n := range c.nodes {
		got, err := n.delivered(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		shares = append(shares, got)
		total += got
	}
	c.t.Logf("the hubs delivered %v notifications", shares)
	for i, got := range shares {
		if got < total/5 {
			c.t.Errorf("hub %s delivered %d of %d notifications", c.nodes[i].id, got, total)
		}
	}
}
