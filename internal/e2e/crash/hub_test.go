package crash

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// killUnderLoad kills a hub n times at random moments while callers run their jobs. Each kill
// comes within the given time after the last one. On a slow machine, there are more kills until the
// load proves something. Each job is checked when it is over, and once more at the end.
func killUnderLoad(t *testing.T, n int, within time.Duration, config string, c *crowd) (*hub, tally) {
	t.Helper()
	h := &hub{hubtest.Start(t, hubtest.Options{Config: config}), newProcesses(), "hub"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(n)*10*time.Second)
	defer cancel()
	c.url, c.direct, c.back = h.URL(), h.URL(), h.p.back
	begin, enough := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.run(ctx, begin, 8)
	}()
	for i := 0; i < n || !c.proves(c.sum()) && ctx.Err() == nil; i++ {
		<-time.After(rand.N(within) + time.Duration(max(i-n, 0))*within) // more and more time for jobs to end
		if err := h.p.strike(func() {}, h.victim()); err != nil {
			t.Error(err)
			break
		}
		if len(c.violations()) > 0 {
			break
		}
	}
	enough()
	<-over
	for _, err := range c.violations() {
		t.Error(err)
	}
	for _, j := range c.jobs {
		if err := j.check(ctx, h.URL()); j.id != "" && err != nil {
			t.Errorf("after all: %v", err)
		}
	}
	return h, c.sum()
}

// TestKilledHubLosesNothing kills the hub at random moments under load. Each task whose id a
// client has received ends or waits for its caller. A reader that reconnects with Last-Event-ID
// misses and repeats nothing.
func TestKilledHubLosesNothing(t *testing.T) {
	loseNothing(t, number(t, "PARLEY_KILLS", 20), "")
}

// loseNothing is the test above for a hub with a configuration and n kills.
func loseNothing(t *testing.T, n int, config string) (*hub, tally) {
	t.Helper()
	c := &crowd{next: func(name string, i int) *job {
		switch i % 4 {
		case 0:
			return &job{agent: "echo", text: name, sends: true}
		case 1:
			return &job{agent: "interview", text: "ask me", leaves: true}
		}
		return &job{agent: "echo", text: strings.Repeat(name+" ", 1+i%60)}
	}, check: func(_ context.Context, j *job) error {
		if j.agent == "echo" && j.state == "COMPLETED" && j.words != j.text {
			return wrong("task %s answered %q to %q", j.id, j.words, j.text)
		}
		return nil
	}, proves: func(sum tally) bool { return len(sum.ids) > 0 && (n < 20 || sum.resumed > 0) }}
	h, sum := killUnderLoad(t, n, 250*time.Millisecond, config, c)
	t.Logf("%d kills: %d tasks seen, all ended or waiting; %d readers resumed, %d tasks failed by a restart; slowest start %v",
		h.p.killed(h.name), len(sum.ids), sum.resumed, sum.lost, h.p.slow)
	if !c.proves(sum) {
		t.Error("the load was too small to prove anything")
	}
	return h, sum
}

// TestKilledHubTakesAKeyOnce kills the hub at random moments while clients send messages with
// keys. A client that got no answer sends its message again. There must be one task for each
// key, and it must be the one in all answers.
func TestKilledHubTakesAKeyOnce(t *testing.T) {
	n := max(number(t, "PARLEY_KILLS", 20)/2, 3)
	c := &crowd{next: func(name string, _ int) *job {
		return &job{agent: "echo", text: name, keyed: true, sends: true, blocks: true}
	}, check: func(ctx context.Context, j *job) error {
		for range 2 {
			if err := j.send(ctx); err != nil {
				return err
			}
		}
		return nil
	}, proves: func(sum tally) bool { return len(sum.ids) > 0 && sum.unanswered > 0 }}
	h, sum := killUnderLoad(t, n, 200*time.Millisecond, "idempotency: {header: true}\n", c)
	keys := map[string]string{}
	for _, j := range c.jobs {
		if other := keys[j.id]; other != "" {
			t.Errorf("task %s is that of %s and %s", j.id, other, j.name)
		}
		keys[j.id] = j.name
	}
	var page struct{ TotalSize int }
	if err := h.call(t.Context(), "", hubtest.Request{URL: "/v1/a2a/tasks?pageSize=1"}, &page); err != nil || page.TotalSize != len(c.jobs) {
		t.Errorf("the hub has %d tasks for %d keys, %v", page.TotalSize, len(c.jobs), err)
	}
	t.Logf("%d kills: %d keys, %d of them unanswered at a kill, one task each", h.p.killed(h.name), len(sum.ids), sum.unanswered)
	if !c.proves(sum) {
		t.Error("the load was too small to prove anything")
	}
}
