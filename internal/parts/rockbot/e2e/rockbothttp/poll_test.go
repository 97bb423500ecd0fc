package rockbothttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// poller is an agent without streams, which ends a task only after a number of polls, and
// records their times.
type poller struct {
	*httptest.Server
	looks int
	state string

	mu sync.Mutex // guards the field below
	at []time.Time
}

func startPoller(t *testing.T, looks int, state string) *poller {
	t.Helper()
	p := &poller{looks: looks, state: state}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *poller) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"name":"Poller","description":"","version":"1.0","capabilities":{"streaming":false},"defaultInputModes":["text/plain"],`+
			`"defaultOutputModes":["text/plain"],"skills":[],"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, p.URL+"/")
		return
	}
	var call struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	state := "TASK_STATE_WORKING"
	p.mu.Lock()
	p.at = append(p.at, time.Now())
	if len(p.at) > p.looks {
		state = p.state
	}
	p.mu.Unlock()
	task := fmt.Sprintf(`{"id":"there","contextId":"c","status":{"state":%q,"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"so far"}]}}}`, state)
	if call.Method == "SendMessage" {
		task = `{"task":` + task + `}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, task)
}

// pauses returns the times between two calls.
func (p *poller) pauses() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []time.Duration
	for i := 1; i < len(p.at); i++ {
		all = append(all, p.at[i].Sub(p.at[i-1]))
	}
	return all
}

// slack is the largest delay in one of some attempts on a busy machine. It is less than the
// difference between two settings.
const slack = 1400 * time.Millisecond

// late reports whether the machine has delayed a pause by more than the slack.
func late(got, want []time.Duration) bool {
	for i := range min(len(got), len(want)) {
		if got[i] > want[i]+slack {
			return true
		}
	}
	return false
}

// wantPauses checks that each pause has the length of the setting.
func wantPauses(t *testing.T, got, want []time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("pauses are %v, want about %v", got, want)
	}
	for i := range want {
		if got[i] < want[i] || late(got, want) {
			t.Errorf("pauses are %v, want about %v", got, want)
			return
		}
	}
}

func TestPolling(t *testing.T) {
	t.Parallel()
	const s = time.Second
	b13 := [][]time.Duration{{2 * s, 4 * s}, {2 * s}}
	b14 := []time.Duration{s / 2, s, s, s}
	var defaults, set []*poller
	for attempt, again := 0, true; again && attempt < 5; attempt++ {
		all := poll(t)
		defaults, set, again = all[:2], all[2:], false
		for i, p := range defaults {
			again = again || late(p.pauses(), b13[i])
		}
		for _, p := range set {
			again = again || late(p.pauses(), b14)
		}
	}
	t.Run("B13", func(t *testing.T) {
		for i, p := range defaults {
			wantPauses(t, p.pauses(), b13[i])
		}
	})
	t.Run("B14", func(t *testing.T) {
		for _, p := range set {
			wantPauses(t, p.pauses(), b14)
		}
	})
}

// poll has a hub poll agents until their tasks are over: two with the defaults, and four with
// shorter pauses.
func poll(t *testing.T) []*poller {
	t.Helper()
	plain, asking := startPoller(t, 2, "TASK_STATE_COMPLETED"), startPoller(t, 1, "TASK_STATE_INPUT_REQUIRED")
	set, listed, spec := startPoller(t, 4, "TASK_STATE_COMPLETED"), startPoller(t, 4, "TASK_STATE_COMPLETED"), startPoller(t, 4, "TASK_STATE_COMPLETED")
	known := write(t, "well-known-agents.json", fmt.Sprintf(`[{"agentName":"Set","url":%q,"pollingInitialDelay":"00:00:00.5","pollingMaxDelay":"1s"}]`, set.URL))
	agents := write(t, "agents.yaml", "agents: [{name: listed, url: \""+listed.URL+"/\", pollInitialMs: 500, pollMaxMs: 1000}]\n")
	specs := write(t, "spec.json", fmt.Sprintf(`{"id":"spec","endpoint":{"backend":"a2a","base_url":%q,"options":{"poll_initial_ms":500,"poll_max_ms":1000,"return_immediately":true}}}`, spec.URL+"/"))
	here := startPoller(t, 4, "TASK_STATE_COMPLETED")
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
directory: {well_known: %q, agents_file: %q, specs: [%q]}
agents:
  - {name: plain, url: "%s/"}
  - {name: asking, url: "%s/"}
  - {name: here, endpoint: {backend: a2a, base_url: "%s/", options: {poll_initial_ms: 500, poll_max_ms: 1000}}}
`, known, agents, specs, plain.URL, asking.URL, here.URL)})
	run := func(name, state string) {
		t.Helper()
		e, err := at(h, "/a2a/"+name, "").Send(within(t), message("go", "", ""))
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case e.Task != nil && e.Task.Status.State != state, e.Task == nil && state != "completed":
			t.Errorf("%s: the answer is %+v, want %s", name, e, state)
		}
	}
	// All calls wait concurrently, because one after the other would take several times as
	// long.
	var all sync.WaitGroup
	for _, name := range []string{"plain", "set", "listed", "spec", "here"} {
		all.Go(func() { run(name, "completed") })
	}
	all.Go(func() { run("asking", "inputRequired") })
	all.Wait()
	return []*poller{plain, asking, set, listed, spec, here}
}
