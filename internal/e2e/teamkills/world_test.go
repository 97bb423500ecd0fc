package teamkills

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// patience is how long a story may take, with all that happens meanwhile.
const patience = 3 * time.Minute

// victims are who is killed.
type victims string

// Who is killed at a moment.
const (
	theHub    victims = "hub"
	theRemote victims = "remote"
	theWorker victims = "worker"
	everybody victims = "everybody"
)

// moment is when somebody is killed, and who.
type moment struct {
	at  string
	who victims
	// later is up to how long after it.
	later time.Duration
	// ask is who asks back in the story, or empty.
	ask string
}

// moments are all phases of a story.
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

// world is the team and its stories.
type world struct {
	t      *testing.T
	hub    *hubtest.Hub
	remote *process
	worker *process
	models *openaitest.Server
	hook   *httptest.Server
	log    string // what delegates have done

	striking sync.Mutex // held while somebody is dead
	all      sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	up      chan struct{}
	kills   map[victims]int
	stories map[string]*story
	heard   map[string][]time.Time // when a member that is a model was asked, by who and key
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, log: filepath.Join(t.TempDir(), "executions"), up: make(chan struct{}),
		kills: map[victims]int{}, stories: map[string]*story{}, heard: map[string][]time.Time{},
	}
	w.hook = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.at(r.FormValue("at"), r.FormValue("key"))
	}))
	t.Cleanup(func() {
		w.hook.CloseClientConnections()
		w.hook.Close()
	})
	w.models = openaitest.New(t, openaitest.Config{}, w.script)
	w.hub = hubtest.New(t, hubtest.Options{})
	w.remote = w.member("remote", "ready", hubtest.Command{})
	self := w.remote.command.Path
	if err := w.remote.start(); err != nil {
		t.Fatal(err)
	}
	w.hub.Configure(teamConfig(w))
	w.hub.Restart()
	w.worker = w.member("packer", "performing the tasks", hubtest.Command{
		Args: []string{"agent", "run", "--data", w.hub.Data(), "--name", "packer", "--idempotent", "--exec", "exec " + self},
	})
	w.worker.command.Path = ""
	if err := w.worker.start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// member returns a process of the team, which is not started yet.
func (w *world) member(role, ready string, c hubtest.Command) *process {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	c.Path = self
	c.Env = []string{roleVar + "=" + role, addrVar + "=" + hubtest.Addr(w.t), hookVar + "=" + w.hook.URL, logVar + "=" + w.log}
	return &process{w: w, command: c, ready: ready}
}

func (p *process) addr() string {
	for _, v := range p.command.Env {
		if a, ok := strings.CutPrefix(v, addrVar+"="); ok {
			return a
		}
	}
	return ""
}

// asked notes that a member that is a model was asked.
func (w *world) asked(who, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard[who+" "+key] = append(w.heard[who+" "+key], time.Now())
}

// at is called where a story has come to. If somebody is to be killed there, they are dead
// when it returns.
func (w *world) at(where, key string) {
	w.mu.Lock()
	st := w.stories[strings.TrimSuffix(key, "q")]
	if st == nil || st.moment.at != where || st.struck {
		w.mu.Unlock()
		return
	}
	st.struck = true
	m := st.moment
	w.mu.Unlock()
	dead := make(chan struct{})
	w.all.Go(func() {
		over := func() { close(dead) }
		if m.later > 0 {
			close(dead)
			over = func() {}
			<-time.After(rand.N(m.later))
		}
		if err := w.strike(m.who, over); err != nil {
			w.t.Error(err)
		}
	})
	<-dead
}

// strike kills somebody, calls dead, and starts them again.
func (w *world) strike(who victims, dead func()) error {
	w.striking.Lock()
	defer w.striking.Unlock()
	hub, remote, worker := who == theHub || who == everybody, who == theRemote || who == everybody, who == theWorker || who == everybody
	if hub {
		w.hub.Kill()
	}
	if remote {
		w.remote.now.Kill()
	}
	if worker {
		w.worker.now.Kill()
	}
	dead()
	var err error
	if hub {
		err = w.hub.Start()
	}
	if remote && err == nil {
		err = w.remote.start()
	}
	if worker && err == nil {
		err = w.worker.start()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kills[who]++
	close(w.up)
	w.up = make(chan struct{})
	if err != nil {
		return fmt.Errorf("start %s again: %w", who, err)
	}
	return nil
}

// back returns a channel that is closed when somebody was started again.
func (w *world) back() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.up
}

// pause waits until somebody was started again, or a moment.
func pause(ctx context.Context, back <-chan struct{}) error {
	select {
	case <-back:
		return nil
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call makes a call, again and again until the hub answers. Its URL is a path.
func (w *world) call(ctx context.Context, r hubtest.Request, into any) error {
	r.URL = w.hub.URL() + r.URL
	for {
		back := w.back()
		err := hubtest.Call(ctx, r, into)
		if err == nil || hubtest.Status(err) != 0 && hubtest.Status(err) != 503 {
			return err
		}
		if pause(ctx, back) != nil {
			return fmt.Errorf("%s: %w: %w", r.URL, context.Cause(ctx), err)
		}
	}
}

func (w *world) begin(m moment) *story {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := &story{w: w, moment: m, key: fmt.Sprintf("k%d", len(w.stories))}
	w.stories[st.key] = st
	return st
}

// tell tells a story until its moment. A story may pass by it: whom another story has killed
// meanwhile does not come to his end.
func (w *world) tell(m moment) {
	for range 3 {
		st := w.begin(m)
		st.tell()
		w.mu.Lock()
		struck := st.struck
		w.mu.Unlock()
		if struck || w.t.Failed() {
			return
		}
	}
}

func (w *world) sum() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.kills {
		n += k
	}
	return n
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

// TestTeamSurvivesKills tells stories in which somebody is killed at each moment there is,
// and looks at what has become of them.
func TestTeamSurvivesKills(t *testing.T) {
	n := count(t, "PARLEY_TEAM_KILLS", len(moments))
	began := time.Now()
	w := newWorld(t)
	queue := make(chan moment)
	var tellers sync.WaitGroup
	const tellersN = 3
	for range tellersN {
		tellers.Go(func() {
			for m := range queue {
				w.tell(m)
			}
		})
	}
	for i := 0; i < n && !t.Failed(); i++ {
		queue <- moments[i%len(moments)]
	}
	close(queue)
	tellers.Wait()
	w.all.Wait()
	told := time.Since(began)
	ends := w.check()
	t.Logf("%d kills %v in %v (checked in %v): %d stories: %v", w.sum(), w.kills,
		told.Round(time.Millisecond), (time.Since(began) - told).Round(time.Millisecond), len(w.stories), ends)
	if !t.Failed() && w.sum() != n {
		t.Errorf("%d kills, want %d: %v", w.sum(), n, w.unstruck())
	}
}

// unstruck returns the moments that stories did not come to.
func (w *world) unstruck() []string {
	var all []string
	for _, st := range w.stories {
		if !st.struck {
			all = append(all, st.moment.at)
		}
	}
	slices.Sort(all)
	return all
}
