package crash

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

const words = 12

// talk returns the output of the program of the remote hub.
func talk() string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "w%d ", i+1)
	}
	return b.String()
}

const peerConfig = `
idempotency: {header: true}
agents:
  - name: talker
    command: for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf "w$i "; sleep 0.02; done
`

const hubConfig = `
agents:
  - {name: talk, endpoint: {backend: a2a, base_url: URL, target: talker, options: {idempotent: IDEMPOTENT}}}
  - {name: ask, endpoint: {backend: a2a, base_url: URL, target: interview, options: {idempotent: IDEMPOTENT}}}
`

// use is the action of a caller.
type use string

const (
	talks   use = "talk"
	asks    use = "ask"
	cancels use = "cancel"
)

// trial is one task with one fault.
type trial struct {
	use  use
	step step
	act  action
}

// trials returns all combinations.
func trials() []trial {
	var all []trial
	for _, s := range []struct {
		use   use
		steps []step
	}{
		{talks, []step{atConnect, atAccept, atMiddle, atFinish}},
		{asks, []step{atAccept, atQuestion, atAnswer, atFinish}},
		{cancels, []step{atMiddle, atCancel, atFinish}},
	} {
		for _, at := range s.steps {
			for _, a := range []action{killHub, killPeer, drop, truncate, delay, duplicate} {
				all = append(all, trial{s.use, at, a})
			}
		}
	}
	return all
}

// pair is a pair of hubs with a proxy in between.
type pair struct {
	t         *testing.T
	p         *processes
	hub, peer *hub
	proxy     *proxy
}

func newPair(t *testing.T, idempotent bool) *pair {
	t.Helper()
	p := newProcesses()
	l := &pair{t: t, p: p, peer: &hub{hubtest.Start(t, hubtest.Options{Config: peerConfig}), p, "peer"}}
	l.proxy = newProxy(t, l.peer.URL())
	config := strings.NewReplacer("URL", l.proxy.URL, "IDEMPOTENT", strconv.FormatBool(idempotent)).Replace(hubConfig)
	l.hub = &hub{hubtest.Start(t, hubtest.Options{Config: config}), p, "hub"}
	l.proxy.kill = map[action]func(){
		killHub:  func() { p.hit(0, t.Error, l.hub.victim()) },
		killPeer: func() { p.hit(0, t.Error, l.peer.victim()) },
	}
	return l
}

// until calls yes periodically until it returns true, or ctx ends.
func until(ctx context.Context, every time.Duration, yes func() bool) bool {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// perform runs one trial, and returns the outcome of its task.
func (l *pair) perform(ctx context.Context, id string, r trial) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	wrong := l.proxy.plan(r.step, r.act)
	task, err := l.live(ctx, id, r)
	if err != nil {
		return "", fmt.Errorf("task is %s after all: %w", task.state(), err)
	}
	l.proxy.disarm(wrong)
	l.p.mending.Wait()
	if task, err = l.get(ctx, id); err != nil {
		return "", err
	}
	if err := l.checkLog(ctx, task, r); err != nil {
		return "", err
	}
	return l.compare(ctx, task, r)
}

func (l *pair) get(ctx context.Context, id string) (*taskJSON, error) {
	task := new(taskJSON)
	return task, hubtest.Call(ctx, hubtest.Request{URL: l.hub.URL() + "/v1/a2a/tasks/" + id}, task)
}

// live acts as the caller of the trial until the task has ended.
func (l *pair) live(ctx context.Context, id string, r trial) (*taskJSON, error) {
	agent := string(r.use)
	if r.use == cancels {
		agent = string(talks)
	}
	output, answers, canceled := false, 0, false
	task := new(taskJSON)
	ended := until(ctx, 10*time.Millisecond, func() bool {
		if !output {
			output = l.say(ctx, agent, id, "ask 1 "+id, id)
			return false
		}
		now, err := l.get(ctx, id)
		if err != nil {
			output = output && hubtest.Status(err) != http.StatusNotFound // the hub died before it had stored the message
			return false
		}
		switch task = now; {
		case task.state() == "INPUT_REQUIRED":
			answers++
			l.say(ctx, agent, id, "Ada", fmt.Sprint(id, "-", answers))
		case r.use == cancels && !canceled && task.text() != "":
			canceled = hubtest.Call(ctx, hubtest.Request{URL: l.hub.URL() + "/v1/a2a/tasks/" + id + ":cancel", Body: "{}"}, nil) == nil
		}
		return task.ended()
	})
	if !ended {
		return task, context.Cause(ctx)
	}
	return task, nil
}

// say sends a message of a task whose id the caller chooses.
func (l *pair) say(ctx context.Context, agent, id, text, message string) bool {
	body := sending{task: id, id: message, text: text}.body()
	return hubtest.Call(ctx, hubtest.Request{URL: l.hub.URL() + "/v1/a2a/" + agent + "/message:send", Body: body}, nil) == nil
}

// checkLog reads the whole log of a task, and checks that it has no gap and no lost or repeated
// chunk.
func (l *pair) checkLog(ctx context.Context, task *taskJSON, r trial) error {
	log := reader{id: task.ID, last: 1, anew: true, skips: r.use == asks}
	err := log.resume(ctx, l.hub.URL(), func() bool { return false })
	switch {
	case !errors.Is(err, io.EOF):
		return err
	case r.use == asks:
		return nil
	case task.state() == "COMPLETED" && log.words != talk(), !strings.HasPrefix(talk(), log.words):
		return fmt.Errorf("the log of a task that is %s says %q", task.state(), log.words)
	case log.words != task.text():
		return fmt.Errorf("the log says %q, the task %q", log.words, task.text())
	}
	return nil
}

// compare compares the task with the one of the remote hub.
func (l *pair) compare(ctx context.Context, task *taskJSON, r trial) (string, error) {
	var page struct{ Tasks []taskJSON }
	var there []taskJSON
	why := task.Status.Message.text()
	list := func() bool {
		err := hubtest.Call(ctx, hubtest.Request{URL: l.peer.URL() + "/v1/a2a/tasks?pageSize=100&historyLength=100&includeArtifacts=true"}, &page)
		there = slices.DeleteFunc(page.Tasks, func(t taskJSON) bool {
			return !slices.ContainsFunc(t.History, func(m messageJSON) bool { return strings.HasSuffix(m.text(), " "+task.ID) })
		})
		page.Tasks = nil
		return err == nil && (len(there) == 0 || there[0].ended() || strings.Contains(why, "unknown whether"))
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !until(wait, 20*time.Millisecond, list) {
		return "", fmt.Errorf("the task is %s here, and there %+v", task.state(), there)
	}
	how := task.state()
	switch {
	case len(there) > 1:
		return "", fmt.Errorf("the other hub was asked %d times", len(there))
	case strings.Contains(why, "unknown whether"):
		return how + " (unknown whether accepted)", nil
	case len(there) == 0 && how == "COMPLETED":
		return "", fmt.Errorf("nobody has done what is COMPLETED")
	case len(there) == 0:
		return how + " (never accepted)", nil
	case there[0].state() != how:
		return "", fmt.Errorf("the task is %s here (%s), and %s there (%s)", how, why, there[0].state(), there[0].reply())
	case there[0].text() != task.text():
		return "", fmt.Errorf("the task says %q here, and %q there", task.text(), there[0].text())
	}
	return how, nil
}

// TestRemoteTasksSurviveFaults runs each combination of a use, a step and a fault, in several
// lanes concurrently.
func TestRemoteTasksSurviveFaults(t *testing.T) {
	all, n := trials(), number(t, "PARLEY_FAULTS", len(trials()))
	const lanes = 3
	var mu sync.Mutex // guards the map
	ends := map[string]int{}
	var wg sync.WaitGroup
	for i := range lanes {
		l := newPair(t, i == 0)
		wg.Go(func() {
			for k := i; k < n; k += lanes {
				r := all[k%len(all)]
				if r.act == duplicate && r.step == atConnect && i != 0 {
					continue // a repeated message counts twice unless both sides support idempotency
				}
				how, err := l.perform(t.Context(), fmt.Sprintf("run-%d", k), r)
				if err != nil {
					t.Errorf("run %d, %s, %s at %s: %v", k, r.use, r.act, r.step, err)
					t.Logf("the hub said:\n%s\nthe other one said:\n%s", l.hub.Output(), l.peer.Output())
					return
				}
				mu.Lock()
				ends[fmt.Sprintf("%s at %s: %s %s", r.act, r.step, r.use, how)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	sums := map[string]int{}
	for what, n := range ends {
		_, how, _ := strings.Cut(what, ": ")
		sums[how] += n
		t.Logf("%4d × %s", n, what)
	}
	t.Logf("%d runs: %v", n, sums)
}
