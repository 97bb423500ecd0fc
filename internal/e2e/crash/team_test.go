package crash

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// teamPatience is the time limit of a plan, including all restarts.
const teamPatience = 3 * time.Minute

// The names of the victims.
const (
	theHub    = "hub"
	theRemote = "remote"
	theWorker = "worker"
	everybody = "everybody"
)

// moment is the phase at which a victim is killed, with the victim.
type moment struct {
	at  string
	who string
	// later is the longest delay of the kill after the phase.
	later time.Duration
	// ask is the member that asks back, or empty.
	ask string
}

// moments are all phases of a plan.
var moments = []moment{
	{at: "sent", who: theHub},
	{at: "planner is asked", who: theHub},
	{at: "planner speaks", who: theHub},
	{at: "planner has spoken", who: theHub, later: 10 * time.Millisecond},
	{at: "writer is asked", who: theHub},
	{at: "writer speaks", who: theHub},
	{at: "writer has spoken", who: theHub, later: 10 * time.Millisecond},
	{at: "critic has spoken", who: theHub, later: 30 * time.Millisecond},
	{at: "faraway begins", who: theHub},
	{at: "faraway begins", who: theRemote},
	{at: "faraway ends", who: theHub},
	{at: "faraway ends", who: theHub, later: 15 * time.Millisecond},
	{at: "faraway ends", who: theRemote},
	{at: "packer begins", who: theHub},
	{at: "packer begins", who: theWorker},
	{at: "packer ends", who: theHub},
	{at: "packer ends", who: theHub, later: 15 * time.Millisecond},
	{at: "packer ends", who: theWorker},
	{at: "packer ends", who: everybody},
	{at: "question speaks", who: theHub, ask: "faraway"},
	{at: "suspended", who: theHub, ask: "faraway"},
	{at: "suspended", who: theHub, ask: "packer"},
	{at: "suspended", who: theWorker, ask: "packer"},
	{at: "answered", who: theHub, ask: "faraway", later: 10 * time.Millisecond},
	{at: "answered", who: theHub, ask: "packer", later: 10 * time.Millisecond},
	{at: "answer is asked", who: theHub},
	{at: "answer speaks", who: theHub},
	{at: "answer has spoken", who: theHub, later: 10 * time.Millisecond},
}

// team is a hub with a planner, the members to which it delegates, and the plans.
type team struct {
	t       *testing.T
	p       *processes
	hub     *hub
	remote  *member
	worker  *member
	victims map[string][]victim
	models  *openaitest.Server
	hook    *httptest.Server
	log     string // log of the delegates' executions

	mu    sync.Mutex // guards the fields below
	plans map[string]*plan
	asks  map[string][]time.Time // times of the requests to members that are models, by member and key
}

func newTeam(t *testing.T) *team {
	w := &team{
		t: t, p: newProcesses(), log: filepath.Join(t.TempDir(), "executions"), plans: map[string]*plan{}, asks: map[string][]time.Time{},
	}
	w.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.at(r.FormValue("at"), r.FormValue("key"))
	}))
	t.Cleanup(func() {
		w.hook.CloseClientConnections()
		w.hook.Close()
	})
	w.models = openaitest.New(t, openaitest.Config{}, w.script)
	w.hub = &hub{hubtest.New(t, hubtest.Options{}), w.p, theHub}
	addr := hubtest.Addr(t)
	w.remote = w.member(remoteRole, "ready", hubtest.Command{Path: os.Args[0]}, addr)
	if err := w.remote.start(); err != nil {
		t.Fatal(err)
	}
	w.hub.Configure(strings.NewReplacer("MODELS", w.models.URL, "REMOTE", "http://"+addr, "PLANNER", plannerPrompt, "MEMBER", memberPrompt).Replace(teamConfig))
	w.hub.Restart()
	w.worker = w.member(packerRole, "performing the tasks", hubtest.Command{
		Args: []string{"agent", "run", "--data", w.hub.Data(), "--name", "packer", "--idempotent", "--exec", "exec " + os.Args[0]},
	}, "")
	if err := w.worker.start(); err != nil {
		t.Fatal(err)
	}
	one := map[string]victim{theHub: w.hub.victim(), theRemote: w.remote.victim(theRemote), theWorker: w.worker.victim(theWorker)}
	w.victims = map[string][]victim{
		theHub: {one[theHub]}, theRemote: {one[theRemote]}, theWorker: {one[theWorker]}, everybody: {one[theHub], one[theRemote], one[theWorker]},
	}
	return w
}

// member is a process that the scenario kills.
type member struct {
	t       *testing.T
	command hubtest.Command
	ready   string
	now     *hubtest.Process
}

// member returns a process of the team without starting it.
func (w *team) member(role, ready string, c hubtest.Command, addr string) *member {
	c.Env = []string{roleVar + "=" + role, addrVar + "=" + addr, hookVar + "=" + w.hook.URL, logVar + "=" + w.log}
	return &member{t: w.t, command: c, ready: ready}
}

func (m *member) start() error {
	m.now = hubtest.Launch(m.t, m.command)
	ctx, cancel := context.WithTimeout(context.Background(), teamPatience)
	defer cancel()
	return m.now.Await(ctx, m.ready)
}

func (m *member) victim(name string) victim { return victim{name, func() { m.now.Kill() }, m.start} }

// asked records a request to a member that is a model.
func (w *team) asked(who, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks[who+" "+key] = append(w.asks[who+" "+key], time.Now())
}

// at is called at each phase of a plan. If the plan kills victims at this phase, they are dead
// when it returns.
func (w *team) at(where, key string) {
	w.mu.Lock()
	st := w.plans[strings.TrimSuffix(key, "q")]
	if st == nil || st.moment.at != where || st.struck {
		w.mu.Unlock()
		return
	}
	st.struck = true
	w.mu.Unlock()
	w.p.hit(st.moment.later, w.t.Error, w.victims[st.moment.who]...)
}

func (w *team) begin(m moment) *plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &plan{w: w, moment: m, key: fmt.Sprintf("k%d", len(w.plans))}
	st.reader = reader{skips: true, anew: true, id: st.task(), last: 1}
	w.plans[st.key] = st
	return st
}

// perform performs plans until one has reached a moment. A plan may skip it if another plan
// killed one of its members.
func (w *team) perform(m moment) {
	for range 3 {
		st := w.begin(m)
		st.perform()
		w.mu.Lock()
		struck := st.struck
		w.mu.Unlock()
		if struck || w.t.Failed() {
			return
		}
	}
}

// TestTeamSurvivesKills performs plans in which processes are killed at each possible moment,
// and then checks the results.
func TestTeamSurvivesKills(t *testing.T) {
	n := number(t, "PARLEY_TEAM_KILLS", len(moments))
	began := time.Now()
	w := newTeam(t)
	queue := make(chan moment)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for m := range queue {
				w.perform(m)
			}
		})
	}
	for i := 0; i < n && !t.Failed(); i++ {
		queue <- moments[i%len(moments)]
	}
	close(queue)
	all.Wait()
	w.p.mending.Wait()
	took := time.Since(began)
	ends := w.check()
	t.Logf("%d strikes, kills %v in %v (checked in %v): %d plans: %v", w.p.strikes, w.p.kills,
		took.Round(time.Millisecond), (time.Since(began) - took).Round(time.Millisecond), len(w.plans), ends)
	if !t.Failed() && w.p.strikes != n {
		t.Errorf("%d strikes, want %d: %v", w.p.strikes, n, w.unstruck())
	}
}

// unstruck returns the moments that no plan has reached.
func (w *team) unstruck() []string {
	var all []string
	for _, st := range w.plans {
		if !st.struck {
			all = append(all, st.moment.at)
		}
	}
	slices.Sort(all)
	return all
}

// teamConfig is the configuration of the planner and the members.
const teamConfig = `
idempotency: {header: true, message_id: true}
bus: {lease: 2s}
model_providers:
  - {name: test, base_url: MODELS}
agents:
  - name: planner
    model: {model: test, system_prompt: "PLANNER", delegates: [writer, critic, faraway, packer]}
  - name: writer
    model: {model: test, system_prompt: "MEMBERwriter."}
  - name: critic
    model: {model: test, system_prompt: "MEMBERcritic."}
  - name: faraway
    endpoint: {backend: a2a, base_url: REMOTE, options: {idempotent: true}}
  - {name: packer, queue: packer, idempotent: true}
`
