package crash

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The agents of the hub itself that are programs: again is idempotent, once may be executed only
// once.
const (
	once  = "once"
	again = "again"
)

// webhookLoad is the kind of jobs that have a webhook.
const webhookLoad = "webhook"

// load is a kind of job.
type load struct {
	name string
	make func(*job)
}

// loads are the kinds of jobs of the campaign. All messages have idempotency keys.
var loads = []load{
	{"queue, once", func(j *job) { j.agent, j.kind = careful, "stream" }},
	{"blocking", func(j *job) { j.agent, j.text, j.sends, j.blocks = "echo", j.name, true, true }},
	{"queue, idempotent", func(j *job) { j.agent, j.kind = robust, "stream" }},
	{webhookLoad, func(j *job) { j.agent, j.kind, j.hook = again, "stream", "/"+j.name }},
	{"command, once", func(j *job) { j.agent, j.kind = once, "stream" }},
	{"streaming", func(j *job) { j.agent, j.text = "echo", strings.Repeat(j.name+" ", 1+rand.IntN(60)) }},
	{"queue, question", func(j *job) { j.agent, j.kind = []string{careful, robust}[rand.IntN(2)], "ask" }},
	{"keyed", func(j *job) { j.agent, j.text, j.sends = "echo", j.name, true }},
	{"command, question", func(j *job) { j.agent, j.kind = []string{once, again}[rand.IntN(2)], "ask" }},
	{"question", func(j *job) { j.agent, j.kind, j.chunks = "interview", "ask", 1 }},
	{"command, idempotent", func(j *job) { j.agent, j.kind = again, "stream" }},
	{"queue, canceled", func(j *job) { j.agent, j.kind = []string{careful, robust}[rand.IntN(2)], "cancel" }},
	{"command, fails", func(j *job) { j.agent, j.kind = once, "fail" }},
	{"queue, fails", func(j *job) { j.agent, j.kind = careful, "fail" }},
	{"command, canceled", func(j *job) { j.agent, j.kind = []string{once, again}[rand.IntN(2)], "cancel" }},
}

// programs are the kinds of jobs whose result is the output of a program.
var programs = func() map[string]bool {
	all := map[string]bool{webhookLoad: true}
	for _, l := range loads {
		all[l.name] = all[l.name] || strings.HasPrefix(l.name, "queue") || strings.HasPrefix(l.name, "command")
	}
	return all
}()

// nextMixed creates the ith job of a caller.
func (c *campaign) nextMixed(name string, i int) *job {
	l := &loads[i%len(loads)]
	j := &job{reader: reader{skips: true, book: c.book, job: name}, name: name, keyed: true, chunks: 1 + rand.IntN(30), load: l.name, program: programs[l.name]}
	if l.make(j); j.hook != "" {
		j.hook = c.hooks.server.URL + j.hook
	}
	if j.kind == "cancel" {
		j.cancelAt, j.chunks = 1+rand.IntN(6), 40
	}
	return j
}

// finish checks the result of a job, and records its end.
func (c *campaign) finish(ctx context.Context, j *job) error {
	if j.finished {
		return nil
	}
	if j.load == "keyed" {
		if err := j.repeat(ctx, 2); err != nil {
			return err
		}
	}
	if err := j.checkLoad(c.filled.Load()); err != nil {
		return err
	}
	j.finished = true
	c.book.write(&line{Op: opEnd, Job: j.name, Load: j.load, Task: j.id, State: j.state, Text: j.words})
	if j.hook != "" && len(j.events) > 0 {
		c.hooks.expect(j)
	}
	return nil
}

// repeat sends the message of a job n more times. Each time the answer must be the same task.
func (j *job) repeat(ctx context.Context, n int) error {
	for n > 0 {
		err := j.send(ctx)
		switch {
		case err == nil:
			n--
		case isViolation(err):
			return err
		case pause(ctx, nil) != nil:
			return flawed(stuck, "message %s cannot be repeated: %v", j.name, err)
		}
	}
	return nil
}

// excuses are reasons for which the design lets a run fail that was interrupted.
var excuses = []string{"worker", "interrupted by restart", "signal: killed", "signal: terminated"}

// checkLoad checks the result of a job by its kind. After a full disk, programs of the hub may
// have failed to start.
func (j *job) checkLoad(full bool) error {
	if programs[j.load] {
		if full && j.state == "FAILED" && strings.Contains(j.why, "failed (reference ") && (j.agent == once || j.agent == again) {
			return nil
		}
		if j.state == "FAILED" && j.kind != "fail" && excused(j.why) {
			return nil
		}
		return j.checkRun()
	}
	if full && j.state == "FAILED" && j.agent == serialCommand && strings.Contains(j.why, "failed (reference ") {
		return nil
	}
	if j.state == "FAILED" && excused(j.why) && j.load != "keyed" {
		return nil
	}
	if j.state != "COMPLETED" {
		return wrong("task %s (%s) is %s: %q", j.id, j.load, j.state, j.why)
	}
	if j.agent == "echo" && j.words != j.text {
		return flawed(lost, "task %s answered %q to %q", j.id, j.words, j.text)
	}
	return nil
}

func excused(why string) bool {
	for _, e := range excuses {
		if strings.Contains(why, e) {
			return true
		}
	}
	return false
}

// ownAgents are the agents of the hub itself, as entries of its configuration.
func (w *busSystem) ownAgents() string {
	w.t.Helper()
	var b strings.Builder
	for _, name := range []string{once, again} {
		fmt.Fprintf(&b, "  - {name: %s, idempotent: %v, command: [%q], env: {%s: %s, %s: %q, TMPDIR: %q}}\n", name, name == again,
			agentProgram, agentVar, name, recordVar, w.record, w.temp())
	}
	models, agents := w.serialConfig(fmt.Sprintf("command: [%q], env: {%s: %s, %s: %q, TMPDIR: %q}",
		agentProgram, agentVar, serialCommand, recordVar, w.record, w.temp()))
	return b.String() + agents + models + "engine: {drain_timeout: 1s}\n"
}

// hooks is a receiver of webhooks that records the accepted notifications in the ledger.
type hooks struct {
	book   *ledger
	server *httptest.Server

	mu sync.Mutex // guards the fields below
	// fails is the way in which notifications fail: 0 for none, else failHang and others.
	fails int
	// last is the checksum of the last expected notification by path, for each job that has
	// ended and not received it.
	last map[string]uint64
	got  map[string]map[uint64]bool
	// changed is closed at the next change of last.
	changed chan struct{}
}

// The ways in which notifications fail.
const (
	failStatus = 1 + iota
	failReset
	failHang
)

func startHooks(t *testing.T, book *ledger) *hooks {
	h := &hooks{book: book, last: map[string]uint64{}, got: map[string]map[uint64]bool{}, changed: make(chan struct{})}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() { h.server.CloseClientConnections(); h.server.Close() })
	return h
}

// ServeHTTP implements http.Handler.
func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the hub was killed
	}
	h.mu.Lock()
	fails := h.fails
	h.mu.Unlock()
	switch fails {
	case failStatus:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case failReset:
		panic(http.ErrAbortHandler)
	case failHang:
		<-r.Context().Done()
		return
	}
	name, sum := filepath.Base(r.URL.Path), sumOf(string(body))
	h.book.write(&line{Op: opPush, Job: name, Sum: sum})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.got[name] == nil {
		h.got[name] = map[uint64]bool{}
	}
	h.got[name][sum] = true
	h.settleLocked(name)
}

// fail selects the way in which notifications fail from now on.
func (h *hooks) fail(way int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails = way
	h.server.CloseClientConnections() // ends requests that hang
}

// expect adds a job that has ended.
func (h *hooks) expect(j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[j.name] = sumOf(j.events[len(j.events)-1].Data)
	h.settleLocked(j.name)
}

func (h *hooks) settleLocked(name string) {
	if sum, ok := h.last[name]; ok && h.got[name][sum] {
		delete(h.last, name)
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// await waits until all expected notifications have arrived.
func (h *hooks) await(ctx context.Context) error {
	for {
		h.mu.Lock()
		left, changed := len(h.last), h.changed
		h.mu.Unlock()
		if left == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			h.mu.Lock()
			defer h.mu.Unlock()
			return flawed(stuck, "the last notifications of %d jobs have not arrived: %v", len(h.last), h.last)
		}
	}
}
