package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// patience is the time limit of a conversation, including all restarts of the hubs.
const patience = 4 * time.Minute

// The keys of the callers. me is the owner of the near hub.
const (
	me        = "me-key-0123456789"
	partner   = "partner-key-0123456789"  // is trusted to propose
	friend    = "friend-key-0123456789"   // is trusted to act at the front desk
	untrusted = "stranger-key-0123456789" // is not trusted
)

const nearConfig = `
questions: {answering_agent: clerk, script: clerk.yaml}
idempotency: {header: true, message_id: true}
memory: {outcomes: ["*"], entries: 100000, owner_entries: 100000}
front_desk: {serve: true, trust: gated}
auth:
  api_keys:
    me-key-0123456789: {agent_id: me, roles: [admin], owner: local}
    partner-key-0123456789: {agent_id: partner}
    friend-key-0123456789: {agent_id: friend}
    stranger-key-0123456789: {agent_id: stranger}
agents:
  - {name: interview, questions: auto}
  - {name: faraway, questions: auto, endpoint: {backend: a2a, base_url: FAR, target: interview, options: {idempotent: true}}}
  - {name: owner, questions: ask, endpoint: {backend: a2a, base_url: FAR, target: interview, options: {idempotent: true}}}
  - {name: person, questions: suspend, endpoint: {backend: a2a, base_url: FAR, target: interview, options: {idempotent: true}}}
  - name: till
    trust: gated
    command: read -r text; echo "$text" >> RUNS; sleep 0.01; printf "sold %s" "$text"
`

const clerk = `
answers:
  - {match: your name, answer: Ada}
  - {match: get done, answer: The work}
  - {match: 'Question (\d+) of (\d+)', answer: 'Answer $1 of $2'}
`

const farConfig = "idempotency: {header: true, message_id: true}\n"

// twoHubs holds the hubs and their conversations.
type twoHubs struct {
	t         *testing.T
	p         *processes
	near, far *hub
	runs      string        // file in which the program of the till records its actions
	over      chan struct{} // closed after the last kill
	mu        sync.Mutex    // guards all
	all       []*conversation
}

func newTwoHubs(t *testing.T) *twoHubs {
	far, near, p := hubtest.Start(t, hubtest.Options{Config: farConfig}), hubtest.New(t, hubtest.Options{}), newProcesses()
	w := &twoHubs{
		t: t, p: p, near: &hub{near, p, "near hub"}, far: &hub{far, p, "far hub"},
		runs: filepath.Join(near.Dir(), "runs"), over: make(chan struct{}),
	}
	near.Configure(strings.NewReplacer("FAR", far.URL(), "RUNS", w.runs).Replace(nearConfig))
	if err := os.WriteFile(filepath.Join(near.Dir(), "clerk.yaml"), []byte(clerk), 0o600); err != nil {
		t.Fatal(err)
	}
	near.Restart()
	w.trust(`{"agentId":"partner","level":"propose"}`)
	w.trust(`{"agentId":"friend","level":"act","approve":["negotiate-meeting","notify-user"]}`)
	return w
}

func (w *twoHubs) trust(entry string) {
	w.t.Helper()
	if err := w.near.call(w.t.Context(), me, hubtest.Request{URL: "/api/v1/trust", Body: entry}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// begin begins a conversation. Its id is also the id of its task and of its session, and is
// part of its texts.
func (w *twoHubs) begin(k *kind) *conversation {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &conversation{kind: k, w: w, id: fmt.Sprintf("%s-%d", k.name, len(w.all)), won: map[string]string{}}
	st.reader = reader{skips: true, anew: true, id: st.id, last: 1, header: bearer(k.key)}
	w.all = append(w.all, st)
	return st
}

// hold holds one conversation after the other until the last kill, and one after it, which no kill
// disturbs.
func (w *twoHubs) hold(k *kind) {
	last := false
	for n := 0; !last && (k.most == 0 || n < k.most); n++ {
		select {
		case <-w.over:
			last = true
		default:
		}
		st := w.begin(k)
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		st.err = k.hold(ctx, st)
		cancel()
		if st.err != nil {
			w.t.Errorf("conversation %s: %v", st.id, st.err)
			return
		}
	}
}

// kill kills hubs n times: mostly the near one, and sometimes both at the same time.
func (w *twoHubs) kill(n int) {
	defer close(w.over)
	for w.p.killed(w.near.name)+w.p.killed(w.far.name) < n && !w.t.Failed() {
		select {
		case <-time.After(rand.N(120 * time.Millisecond)):
		case <-w.t.Context().Done():
			return
		}
		victims := []victim{w.near.victim()}
		switch rand.IntN(5) {
		case 0:
			victims = []victim{w.far.victim()}
		case 1:
			victims = append(victims, w.far.victim())
		}
		if err := w.p.strike(func() {}, victims...); err != nil {
			w.t.Error(err)
			return
		}
	}
}

// TestConversationsSurviveKills holds conversations of all kinds concurrently while the hubs
// are killed, and then checks them.
func TestConversationsSurviveKills(t *testing.T) {
	n := number(t, "PARLEY_TALK_KILLS", 40)
	began := time.Now()
	w := newTwoHubs(t)
	var all sync.WaitGroup
	all.Go(func() { w.kill(n) })
	for range 2 {
		for i := range kinds {
			all.Go(func() { w.hold(&kinds[i]) })
		}
	}
	all.Wait()
	held := time.Since(began)
	ends := w.check()
	t.Logf("kills %v in %v (checked in %v), slowest start %v: %d conversations: %v", w.p.kills, held.Round(time.Millisecond),
		(time.Since(began) - held).Round(time.Millisecond), w.p.slow.Round(time.Millisecond), len(w.all), ends)
}

// query returns a query string of names and values, without empty values.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	return "?" + q.Encode()
}
