package kills

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// patience is how long a story may take, with all that happens to the hubs meanwhile.
const patience = 2 * time.Minute

// The people, by their keys. Me is the owner of the near hub.
const (
	me       = "me-key-0123456789"
	partner  = "partner-key-0123456789"  // is trusted to propose
	friend   = "friend-key-0123456789"   // is trusted to act at the front desk
	stranger = "stranger-key-0123456789" // is trusted with nothing
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

// side is a hub that is killed now and then.
type side struct {
	*hubtest.Hub

	mu    sync.Mutex // guards the fields below
	up    chan struct{}
	kills int
	slow  time.Duration
}

func newSide(h *hubtest.Hub) *side { return &side{Hub: h, up: make(chan struct{})} }

// strike kills the hub and starts it again.
func (s *side) strike() error {
	s.Kill()
	err := s.Start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kills++
	s.slow = max(s.slow, s.Took())
	close(s.up)
	s.up = make(chan struct{})
	return err
}

// back returns a channel that is closed when the hub was started again.
func (s *side) back() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// pause waits until the hub was started again, or a moment.
func pause(ctx context.Context, back <-chan struct{}) error {
	select {
	case <-back:
		return nil
	case <-time.After(10 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call makes a call, again and again until the hub answers. Its URL is a path.
func (s *side) call(ctx context.Context, key string, r hubtest.Request, into any) error {
	r = s.request(key, r)
	for {
		back := s.back()
		err := hubtest.Call(ctx, r, into)
		if err == nil || hubtest.Status(err) != 0 && hubtest.Status(err) != 503 {
			return err
		}
		if pause(ctx, back) != nil {
			return fmt.Errorf("%s: %w: %w", r.URL, context.Cause(ctx), err)
		}
	}
}

func (s *side) request(key string, r hubtest.Request) hubtest.Request {
	r.URL = s.URL() + r.URL
	r.Header = append(slices.Clone(r.Header), "Authorization", "Bearer "+key)
	return r
}

// world is the two hubs and the stories.
type world struct {
	t         *testing.T
	near, far *side
	runs      string        // where the program of the till notes what it does
	over      chan struct{} // closed when nobody is killed any more
	mu        sync.Mutex    // guards stories
	stories   []*story
}

func newWorld(t *testing.T) *world {
	far := hubtest.Start(t, hubtest.Options{Config: farConfig})
	near := hubtest.New(t, hubtest.Options{})
	w := &world{t: t, near: newSide(near), far: newSide(far), runs: filepath.Join(near.Dir(), "runs"), over: make(chan struct{})}
	near.Configure(strings.NewReplacer("FAR", far.URL(), "RUNS", w.runs).Replace(nearConfig))
	if err := os.WriteFile(filepath.Join(near.Dir(), "clerk.yaml"), []byte(clerk), 0o600); err != nil {
		t.Fatal(err)
	}
	near.Restart()
	w.trust(`{"agentId":"partner","level":"propose"}`)
	w.trust(`{"agentId":"friend","level":"act","approve":["negotiate-meeting","notify-user"]}`)
	return w
}

func (w *world) trust(entry string) {
	w.t.Helper()
	if err := w.near.call(w.t.Context(), me, hubtest.Request{URL: "/api/v1/trust", Body: entry}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// begin begins a story. Its id is the id of its task, of its session, and in what is said.
func (w *world) begin(kind, agent, key string) *story {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &story{w: w, kind: kind, agent: agent, key: key, id: fmt.Sprintf("%s-%d", kind, len(w.stories)), won: map[string]string{}}
	w.stories = append(w.stories, st)
	return st
}

// tell lets a teller tell one story after the other until nobody is killed any more.
func (w *world) tell(t teller) {
	for n := 0; t.most == 0 || n < t.most; n++ {
		select {
		case <-w.over:
			return
		default:
		}
		st := w.begin(t.kind, t.agent, t.key)
		ctx, cancel := context.WithTimeout(w.t.Context(), patience)
		st.err = t.tell(ctx, st)
		cancel()
		if st.err != nil {
			w.t.Errorf("story %s: %v", st.id, st.err)
			return
		}
	}
}

// kill kills hubs n times: mostly the near one, and sometimes both at one time.
func (w *world) kill(n int) {
	defer close(w.over)
	for k := 0; k < n && !w.t.Failed(); {
		select {
		case <-time.After(time.Duration(rand.IntN(120)) * time.Millisecond):
		case <-w.t.Context().Done():
			return
		}
		victims := []*side{w.near}
		switch rand.IntN(5) {
		case 0:
			victims = []*side{w.far}
		case 1:
			victims = []*side{w.near, w.far}
		}
		var all sync.WaitGroup
		for _, s := range victims {
			k++
			all.Go(func() {
				if err := s.strike(); err != nil {
					w.t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

// count reads a number from the environment.
func count(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", name, s)
	}
	return n
}

// TestConversationsSurviveKills tells all stories at one time while the hubs are killed,
// and looks at what has become of them.
func TestConversationsSurviveKills(t *testing.T) {
	n := count(t, "PARLEY_TALK_KILLS", 40)
	began := time.Now()
	w := newWorld(t)
	var all sync.WaitGroup
	all.Go(func() { w.kill(n) })
	for range 2 {
		for _, teller := range tellers {
			all.Go(func() { w.tell(teller) })
		}
	}
	all.Wait()
	told := time.Since(began)
	ends := w.check()
	t.Logf("%d kills of the near hub and %d of the far one in %v (checked in %v), slowest start %v: %d stories: %v",
		w.near.kills, w.far.kills, told.Round(time.Millisecond), (time.Since(began) - told).Round(time.Millisecond),
		max(w.near.slow, w.far.slow).Round(time.Millisecond), len(w.stories), ends)
}

// query is a query string of names and values, without those that are empty.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Add(pairs[i], pairs[i+1])
		}
	}
	return "?" + q.Encode()
}
