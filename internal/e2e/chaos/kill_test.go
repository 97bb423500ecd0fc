package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// kills returns how often the hub is killed.
func kills(t *testing.T) int {
	t.Helper()
	s := os.Getenv("PARLEY_KILLS")
	if s == "" {
		return 20
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("PARLEY_KILLS=%q is not a positive number", s)
	}
	return n
}

// witness is what one client has seen of one task.
type witness struct {
	id string
	// agent and text are what was asked.
	agent, text string
	// last is the version of the last event seen, 0 for none.
	last int64
	// chunks is what was seen of the answer, and state the last state.
	chunks strings.Builder
	state  string
	// resumes counts the times that the reader came back.
	resumes int
	wrong   string
}

type frame struct {
	Task         *taskJSON `json:"task"`
	StatusUpdate *struct {
		Status statusJSON `json:"status"`
	} `json:"statusUpdate"`
	ArtifactUpdate *struct {
		Artifact artifactJSON `json:"artifact"`
	} `json:"artifactUpdate"`
	Error json.RawMessage `json:"error"`
}

type taskJSON struct {
	ID        string         `json:"id"`
	Status    statusJSON     `json:"status"`
	Artifacts []artifactJSON `json:"artifacts"`
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

func ended(state string) bool {
	switch state {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// done reports whether nothing more will happen to the task by itself.
func (w *witness) done() bool {
	return ended(w.state) || w.state == "TASK_STATE_INPUT_REQUIRED" || w.wrong != ""
}

// see takes one event and reports whether more are wanted.
func (w *witness) see(ev event) bool {
	w.note(ev)
	return !w.done()
}

// note takes one event; it notes what must not be.
func (w *witness) note(ev event) {
	var f frame
	if err := json.Unmarshal([]byte(ev.data), &f); err != nil {
		w.wrong = fmt.Sprintf("event %s is not JSON: %v", ev.id, err)
		return
	}
	if f.Error != nil {
		return // the hub is going down
	}
	version, err := strconv.ParseInt(ev.id, 10, 64)
	if err != nil || version != w.last+1 {
		w.wrong = fmt.Sprintf("event %q after %d", ev.id, w.last)
		return
	}
	w.last = version
	switch {
	case f.Task != nil:
		w.id, w.state = f.Task.ID, f.Task.Status.State
	case f.StatusUpdate != nil:
		w.state = f.StatusUpdate.Status.State
	case f.ArtifactUpdate != nil:
		w.chunks.WriteString(joined(f.ArtifactUpdate.Artifact.Parts))
	}
}

// load drives a hub until it dies, and remembers what it saw.
type load struct {
	url    string
	serial int

	mu        sync.Mutex // guards the fields below
	witnesses []*witness
	// ids are tasks of which no more than the id was seen.
	ids []string
}

func (l *load) add(w *witness) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.witnesses = append(l.witnesses, w)
}

// run drives the hub with n clients until ctx ends or the hub is gone.
func (l *load) run(ctx context.Context, n int) {
	var wg sync.WaitGroup
	for c := range n {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := l.once(ctx, fmt.Sprintf("k%d-c%d-%d", l.serial, c, i), i+c); err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// once makes one call of a kind that depends on i.
func (l *load) once(ctx context.Context, name string, i int) error {
	switch i % 4 {
	case 0:
		return l.sendNow(ctx, name)
	case 1:
		return l.stream(ctx, "interview", name, "ask me")
	default:
		return l.stream(ctx, "echo", name, strings.Repeat(name+" ", 1+i%60))
	}
}

// sendNow asks for an immediate answer; its id must be remembered.
func (l *load) sendNow(ctx context.Context, name string) error {
	body := strings.TrimSuffix(message(name, name), "}") + `,"configuration":{"returnImmediately":true}}`
	resp, err := post(ctx, l.url+"/v1/a2a/echo/message:send", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%d: %w", resp.StatusCode, err)
	}
	var f frame
	if err := json.Unmarshal(b, &f); err != nil || f.Task == nil {
		return fmt.Errorf("answer %s: %w", b, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, f.Task.ID)
	return nil
}

// stream sends a message and reads its stream as far as it goes.
func (l *load) stream(ctx context.Context, agent, name, text string) error {
	resp, err := post(ctx, l.url+"/v1/a2a/"+agent+"/message:stream", message(name, text))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	w := &witness{agent: agent, text: text}
	defer func() {
		if w.id != "" {
			l.add(w)
		}
	}()
	err = events(resp.Body, w.see)
	if w.done() {
		return nil
	}
	return err
}

// resume goes on reading where w stopped, until the task has ended.
func (l *load) resume(ctx context.Context, w *witness) error {
	w.resumes++
	resp, err := post(ctx, l.url+"/v1/a2a/tasks/"+w.id+":subscribe", "", "Last-Event-ID", strconv.FormatInt(w.last, 10))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("subscribe %s after %d: status %d: %s", w.id, w.last, resp.StatusCode, b)
	}
	err = events(resp.Body, w.see)
	if w.done() {
		return nil
	}
	return fmt.Errorf("stream of %s ended in state %s: %w", w.id, w.state, err)
}

// check compares what w saw with the task as it is now.
func (l *load) check(ctx context.Context, w *witness) error {
	if w.wrong != "" {
		return fmt.Errorf("task %s: %s", w.id, w.wrong)
	}
	if !w.done() {
		if err := l.resume(ctx, w); err != nil {
			return err
		}
	}
	if w.wrong != "" {
		return fmt.Errorf("task %s, resumed: %s", w.id, w.wrong)
	}
	got, err := l.get(ctx, w.id)
	if err != nil {
		return err
	}
	var answer string
	for _, a := range got.Artifacts {
		answer += joined(a.Parts)
	}
	if got.Status.State != w.state || answer != w.chunks.String() {
		return fmt.Errorf("task %s is %s with %q, its reader saw %s with %q", w.id, got.Status.State, answer, w.state, w.chunks.String())
	}
	if w.agent == "echo" && w.state == "TASK_STATE_COMPLETED" && answer != w.text {
		return fmt.Errorf("task %s answered %q to %q", w.id, answer, w.text)
	}
	return nil
}

func (l *load) get(ctx context.Context, id string) (*taskJSON, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url+"/v1/a2a/tasks/"+id, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: status %d: %s", id, resp.StatusCode, b)
	}
	task := new(taskJSON)
	return task, json.Unmarshal(b, task)
}

// awaitEnd waits until the task id has ended.
func (l *load) awaitEnd(ctx context.Context, id string) error {
	w := &witness{id: id, last: 1}
	for {
		got, err := l.get(ctx, id)
		if err != nil || ended(got.Status.State) {
			return err
		}
		if err := l.resume(ctx, w); err != nil {
			return err
		}
	}
}

// TestKilledHubLosesNothing kills the hub at random moments under load. Every task
// id that a client had seen ends or waits for its caller, and a reader that comes
// back with Last-Event-ID misses and repeats nothing.
func TestKilledHubLosesNothing(t *testing.T) {
	n := kills(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*10*time.Second)
	defer cancel()
	var seen, resumed, failed int
	var slowest time.Duration
	all := &load{}
	h := hubtest.Start(t, hubtest.Options{})
	for k := range n {
		l := &load{url: h.URL(), serial: k}
		killed, done := context.WithCancel(ctx)
		time.AfterFunc(time.Duration(rand.IntN(250))*time.Millisecond, func() {
			h.Kill()
			done()
		})
		l.run(killed, 8)
		<-killed.Done()
		http.DefaultClient.CloseIdleConnections()
		h.Restart()
		slowest = max(slowest, h.Took())
		for _, w := range l.witnesses {
			if err := l.check(ctx, w); err != nil {
				t.Errorf("kill %d: %v", k, err)
			}
			seen++
			resumed += min(w.resumes, 1)
			if w.state == "TASK_STATE_FAILED" {
				failed++
			}
		}
		for _, id := range l.ids {
			if err := l.awaitEnd(ctx, id); err != nil {
				t.Errorf("kill %d: %v", k, err)
			}
			seen++
		}
		if t.Failed() {
			t.FailNow()
		}
		all.ids = append(all.ids, l.ids...)
	}
	for _, id := range all.ids {
		if got, err := all.at(h.URL()).get(ctx, id); err != nil || !ended(got.Status.State) {
			t.Errorf("task %s after all: %+v, %v", id, got, err)
		}
	}
	t.Logf("%d kills: %d tasks seen, all ended or waiting; %d readers resumed, %d tasks failed by a restart; slowest start %v",
		n, seen, resumed, failed, slowest)
	if seen == 0 || n >= 20 && resumed == 0 {
		t.Error("the load was too small to prove anything")
	}
}

func (l *load) at(url string) *load {
	l.url = url
	return l
}
