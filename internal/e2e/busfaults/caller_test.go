package busfaults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

type frame struct {
	Task         *taskJSON `json:"task"`
	StatusUpdate *struct {
		Status statusJSON `json:"status"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		Artifact artifactJSON `json:"artifact"`
	} `json:"artifactUpdate"`
}

type taskJSON struct {
	ID        string         `json:"id"`
	Status    statusJSON     `json:"status"`
	Artifacts []artifactJSON `json:"artifacts"`
}

func (t *taskJSON) text() string {
	var b strings.Builder
	for _, a := range t.Artifacts {
		b.WriteString(joined(a.Parts))
	}
	return b.String()
}

type statusJSON struct {
	State   string `json:"state"`
	Message struct {
		Parts []partJSON `json:"parts"`
	} `json:"message"`
}

type artifactJSON struct {
	Parts []partJSON `json:"parts"`
}

type partJSON struct {
	Text string `json:"text"`
}

func joined(parts []partJSON) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

const (
	completed = "TASK_STATE_COMPLETED"
	failed    = "TASK_STATE_FAILED"
	canceled  = "TASK_STATE_CANCELED"
	asking    = "TASK_STATE_INPUT_REQUIRED"
)

// errand is one task, and what its caller has seen of it.
type errand struct {
	url, agent, name, what string
	chunks                 int

	id    string
	last  int64 // the version of the last event
	seen  int   // how many there were
	state string
	why   string // the words of the last status
	text  string
	// sent counts the attempts to begin it, resumed those to go on reading.
	sent, resumed int
	answered      bool
	// cancelAt is how many events are seen before the task is to be canceled; zero if it is
	// not. canceled says that the hub has done so, over that the task had ended before.
	cancelAt       int
	canceled, over bool
	// blind says that it is not known whether a request to cancel has arrived.
	blind bool
}

// violation is what must not be.
type violation struct{ text string }

func (v *violation) Error() string { return v.text }

func wrong(format string, args ...any) error { return &violation{fmt.Sprintf(format, args...)} }

// pause waits before the hub is asked again, which may be down.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(50*time.Millisecond + rand.N(100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// run begins the task and reads until it has ended. Its error is a violation.
func (e *errand) run(ctx context.Context) error {
	err := errors.New("not begun")
	for !e.ended() {
		if err != nil && e.sent > 0 && !pause(ctx) {
			return wrong("task %q of %s, %s at %s, does not end: %v", e.id, e.name, e.what, e.state, err)
		}
		switch {
		case e.id == "":
			err = e.begin(ctx)
		case e.state == asking && !e.answered:
			err = e.answer(ctx)
		case e.cancels():
			err = e.cancel(ctx)
		default:
			err = e.resume(ctx)
		}
		if v := (*violation)(nil); errors.As(err, &v) {
			return err
		}
	}
	return nil
}

func (e *errand) ended() bool {
	return e.state == completed || e.state == failed || e.state == canceled
}

// cancels reports whether it is time to cancel the task.
func (e *errand) cancels() bool {
	return e.cancelAt > 0 && e.seen >= e.cancelAt && !e.canceled && !e.over
}

// cancel cancels the task.
func (e *errand) cancel(ctx context.Context) error {
	var got taskJSON
	err := hubtest.Call(ctx, hubtest.Request{URL: e.url + "/v1/a2a/tasks/" + e.id + ":cancel", Body: "{}"}, &got)
	switch code := hubtest.Status(err); {
	case err == nil && got.Status.State != canceled:
		return wrong("task %s is canceled, and %s", e.id, got.Status.State)
	case code == http.StatusConflict || code == http.StatusBadRequest:
		e.over = true
		return nil
	case code/100 == 4:
		return wrong("task %s cannot be canceled: %v", e.id, err)
	}
	e.canceled, e.blind = err == nil, e.blind || err != nil
	return err
}

// message is the body of a message that comes again with the same key.
func (e *errand) message(id, text string) string {
	about := ""
	if e.id != "" {
		about = fmt.Sprintf(`"taskId":%q,`, e.id)
	}
	return fmt.Sprintf(`{"message":{"messageId":%q,%s"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, id, about, text)
}

func (e *errand) begin(ctx context.Context) error {
	e.sent++
	return e.read(ctx, hubtest.Request{
		URL: e.url + "/v1/a2a/" + e.agent + "/message:stream", Body: e.message(e.name, fmt.Sprintf("%s %d", e.what, e.chunks)),
		Header: []string{"Idempotency-Key", e.name},
	})
}

func (e *errand) answer(ctx context.Context) error {
	err := hubtest.Call(ctx, hubtest.Request{
		URL: e.url + "/v1/a2a/" + e.agent + "/message:send", Body: e.message(e.name+"-answer", fmt.Sprintf("stream %d", e.chunks)),
		Header: []string{"Idempotency-Key", e.name + "-answer"},
	}, nil)
	if code := hubtest.Status(err); code/100 == 4 {
		return wrong("task %s: the answer is refused: %v", e.id, err)
	}
	e.answered = err == nil
	return err
}

func (e *errand) resume(ctx context.Context) error {
	e.resumed++
	return e.read(ctx, hubtest.Request{
		Method: http.MethodPost, URL: e.url + "/v1/a2a/tasks/" + e.id + ":subscribe", Header: []string{"Last-Event-ID", strconv.FormatInt(e.last, 10)},
	})
}

// read reads a stream until the task needs its caller, or the connection is lost.
func (e *errand) read(ctx context.Context, r hubtest.Request) error {
	resp, err := hubtest.Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return wrong("task %s after event %d, in %s: nothing more is to come", e.id, e.last, e.state)
	case resp.StatusCode/100 == 4:
		return wrong("task %q of %s, %s: %s is refused with %s", e.id, e.name, e.what, r.URL, resp.Status)
	case resp.StatusCode != http.StatusOK:
		return errors.New(resp.Status)
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return err
		}
		if err := e.see(ev); err != nil {
			return err
		}
		if e.state == asking && !e.answered || e.ended() || e.cancels() {
			return nil
		}
	}
	return nil
}

// see takes one event.
func (e *errand) see(ev hubtest.Event) error {
	var f frame
	if err := json.Unmarshal([]byte(ev.Data), &f); err != nil {
		return wrong("task %s: event %s is not JSON: %v", e.id, ev.ID, err)
	}
	if f.Task == nil && f.StatusUpdate == nil && f.ArtifactUpdate == nil {
		return fmt.Errorf("the hub says %s", ev.Data) // it is going down
	}
	version, err := strconv.ParseInt(ev.ID, 10, 64)
	if err != nil || version <= e.last {
		return wrong("task %s: event %q after %d", e.id, ev.ID, e.last)
	}
	e.last = version
	e.seen++
	switch {
	case f.Task != nil && e.id != "" && f.Task.ID != e.id:
		return wrong("task %s has become %s", e.id, f.Task.ID)
	case f.Task != nil && e.id != "" && f.Task.text() != e.text:
		return wrong("task %s: a snapshot at %d has %q after %q was read", e.id, version, f.Task.text(), e.text)
	case f.Task != nil:
		e.id, e.state, e.why, e.text = f.Task.ID, f.Task.Status.State, joined(f.Task.Status.Message.Parts), f.Task.text()
	case f.StatusUpdate != nil:
		e.state, e.why = f.StatusUpdate.Status.State, joined(f.StatusUpdate.Status.Message.Parts)
	default:
		e.text += joined(f.ArtifactUpdate.Artifact.Parts)
	}
	return nil
}

// check compares what the caller has seen with the task as it is.
func (e *errand) check(ctx context.Context, url string) error {
	var got taskJSON
	if err := hubtest.Call(ctx, hubtest.Request{URL: url + "/v1/a2a/tasks/" + e.id}, &got); err != nil {
		return wrong("get task %s: %v", e.id, err)
	}
	if got.Status.State != e.state || got.text() != e.text {
		return wrong("task %s is %s with %q, its reader saw %s with %q", e.id, got.Status.State, got.text(), e.state, e.text)
	}
	run, n, err := oneRun(e.text)
	by, _, _ := strings.Cut(e.why, ":") // a program says all of it once more
	if err != nil {
		return wrong("task %s, %s (%s): %v", e.id, e.state, e.why, err)
	}
	switch {
	case e.state == completed && (n != e.chunks || n > 0 && run != by):
		return wrong("task %s is completed by run %s with %d chunks of %s, want %d: %q", e.id, e.why, n, run, e.chunks, e.text)
	case e.state == completed && e.what == "fail":
		return wrong("task %s is completed, and should have failed", e.id)
	case e.canceled != (e.state == canceled) && !e.blind:
		return wrong("task %s is %s; that it was canceled: %v", e.id, e.state, e.canceled)
	case e.state == failed && e.what != "fail" && !strings.Contains(e.why, "worker"):
		return wrong("task %s (%s) has failed for no fault: %q", e.id, e.what, e.why)
	}
	return nil
}

// oneRun returns which run has said text and how many chunks, or why it is not one run
// without gaps.
func oneRun(text string) (run string, n int, err error) {
	for i, chunk := range strings.Fields(text) {
		by, number, _ := strings.Cut(chunk, ":")
		if i == 0 {
			run = by
		}
		if by != run || number != strconv.Itoa(i) {
			return "", 0, fmt.Errorf("chunk %d of run %s is %q: %q", i, run, chunk, text)
		}
		n++
	}
	return run, n, nil
}

// crowd are the callers.
type crowd struct {
	// url is the hub's behind a proxy, direct its own. kinds are what callers do in turn; if
	// nil, ownKinds.
	url, direct string
	kinds       []string

	mu      sync.Mutex // guards the fields below
	errands []*errand
	active  map[string]*errand
	errs    []error
}

// ownKinds are what callers do where hub and workers are not the command.
var ownKinds = []string{"stream", "ask", "stream", "fail", "stream"}

// run begins tasks until begin ends; they have until ctx ends.
func (c *crowd) run(ctx, begin context.Context, n int) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for j := 0; begin.Err() == nil; j++ {
				c.one(ctx, fmt.Sprintf("c%d-%d", i, j), i+j)
			}
		})
	}
	wg.Wait()
}

func (c *crowd) one(ctx context.Context, name string, kind int) {
	kinds := c.kinds
	if kinds == nil {
		kinds = ownKinds
	}
	what := kinds[kind%len(kinds)]
	e := &errand{url: c.url, agent: []string{careful, robust}[kind%2], name: name, what: what, chunks: 1 + rand.IntN(30)}
	if what == "cancel" {
		e.cancelAt, e.chunks = 1+rand.IntN(6), 40
	}
	c.mu.Lock()
	if c.active == nil {
		c.active = map[string]*errand{}
	}
	c.active[name] = e
	c.mu.Unlock()
	err := e.run(ctx)
	if err == nil {
		err = c.insist(ctx, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.active, name)
	c.errands = append(c.errands, e)
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// insist checks e, again while the hub is down.
func (c *crowd) insist(ctx context.Context, e *errand) error {
	for {
		err := hubtest.Call(ctx, hubtest.Request{URL: c.direct + "/healthz"}, nil)
		if err == nil {
			if err = e.check(ctx, c.direct); err == nil {
				return nil
			}
			if hubtest.Call(ctx, hubtest.Request{URL: c.direct + "/healthz"}, nil) == nil {
				return err
			}
		}
		if !pause(ctx) {
			return err
		}
	}
}

// underWay describes what callers wait for.
func (c *crowd) underWay() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, e := range c.active {
		all = append(all, e.agent+" "+e.what+" "+name)
	}
	return all
}

// tally is what the crowd has seen.
type tally struct {
	completed, lost, canceled, resumed, repeated int
	ids                                          map[string]bool
}

// sum counts what the crowd has seen.
func (c *crowd) sum() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := tally{ids: map[string]bool{}}
	for _, e := range c.errands {
		t.ids[e.id] = true
		t.resumed += min(e.resumed, 1)
		t.repeated += min(e.sent-1, 1)
		switch {
		case e.state == completed:
			t.completed++
		case e.state == canceled:
			t.canceled++
		case e.what != "fail":
			t.lost++
		}
	}
	return t
}

// violations are those that there were so far.
func (c *crowd) violations() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.errs)
}
