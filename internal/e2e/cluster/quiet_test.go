package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// quiet checks hubs without faults but with wrong clocks: they become members and stay so, perform
// all jobs, and continue the tasks of a hub that never returns.
func (c *campaign) quiet() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settling)
	defer cancel()
	if slices.ContainsFunc(c.kinds, func(k faultKind) bool { return k.name == "move clock" }) {
		for i, jump := range []time.Duration{time.Hour, 0, -time.Hour} {
			c.moveClock(c.nodes[i], &strike{jump: jump})
		}
	}
	c.jobs = nil
	if err := c.members(ctx); err != nil {
		c.violated(err)
		return
	}
	if err := c.orphans(ctx); err != nil {
		c.violated(err)
	}
	if err := c.members(ctx); err != nil {
		c.violated(err)
		return
	}
	c.check(ctx)
}

// members waits until each hub knows all of them as members.
func (c *campaign) members(ctx context.Context) error {
	for {
		missing := ""
		for _, n := range c.nodes {
			names, err := membersOf(ctx, n)
			if err != nil || len(names) != len(c.nodes) {
				missing += fmt.Sprintf(" hub %s: %v, %v;", n.id, names, err)
			}
		}
		if missing == "" {
			return nil
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return wrong("the hubs do not become members:%s", missing)
		}
	}
}

// membersOf returns the members that a hub knows.
func membersOf(ctx context.Context, n *node) ([]string, error) {
	var report struct {
		Checks []struct{ Name, Detail string }
	}
	if err := hubtest.Call(ctx, hubtest.Request{URL: n.URL() + "/readyz"}, &report); err != nil {
		return nil, err
	}
	for _, check := range report.Checks {
		if check.Name != "lease" {
			continue
		}
		if names, ok := strings.CutPrefix(check.Detail, "hubs: "); ok {
			return strings.Split(names, ", "), nil
		}
		if others, ok := strings.CutPrefix(check.Detail, "a different configuration from this hub's: "); ok { // another proxy
			return append(strings.Fields(others), n.id), nil
		}
	}
	return nil, errors.New("no members")
}

// orphans begins tasks at a hub and freezes it. The others must end its short tasks before it wakes, and
// have begun with the long ones: then two hubs have a run of each, and one of them counts.
func (c *campaign) orphans(ctx context.Context) error {
	holder, all := c.nodes[0], c.nodes
	defer func() { c.nodes = all }()
	var jobs []*job
	for i := range 8 {
		l := &load{name: "orphan", agent: "slow", hook: true}
		text := "7"
		if i%4 == 0 {
			l.agent, l.effects, text = "again", atMost, "30"
		}
		j := &job{c: c, load: l, name: fmt.Sprintf("orphan-%d", i), text: text, brief: true}
		c.nodes = all[:1]
		for j.id == "" {
			err := j.begin(ctx)
			if errors.Is(err, errViolation) || j.id == "" && pause(ctx, 50*time.Millisecond) != nil {
				return wrong("orphan %d is not accepted: %v", i, err)
			}
		}
		c.ids[j.id] = j.owner
		jobs = append(jobs, j)
	}
	holder.signal(syscall.SIGSTOP)
	defer holder.signal(syscall.SIGCONT)
	c.nodes = all[1:]
	for i, j := range jobs {
		if j.brief = false; i%4 == 0 {
			if err := j.follow(ctx); err != nil {
				return err
			}
		}
	}
	holder.signal(syscall.SIGCONT)
	for i, j := range jobs {
		if i%4 != 0 {
			if err := j.follow(ctx); err != nil {
				return err
			}
		}
	}
	c.jobs = append(c.jobs, jobs...)
	return nil
}
