package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// load is a kind of job.
type load struct {
	name, agent string
	text        func(name string) string
	// blocks is set if the message is sent by a call that waits for the end, and is repeated.
	blocks bool
	// hook is set if the task has a webhook, asks if its agent asks questions, cancels if its
	// caller cancels it.
	hook, asks, cancels bool
	// effects is the largest number of executions of a program, 0 for agents that are none.
	effects int
}

const (
	onlyOnce = 1
	atMost   = 3 // attempts at an idempotent message
)

func number(string) string { return strconv.Itoa(3 + rand.IntN(25)) }

func fixed(s string) func(string) string { return func(string) string { return s } }

// loads are the kinds of jobs without a broker, queueLoads those for queues.
var (
	loads = []load{
		{name: "blocking", agent: "echo", text: func(name string) string { return name }, blocks: true},
		{name: "webhook", agent: "again", text: number, hook: true, effects: atMost},
		{name: "program, once", agent: "once", text: number, effects: onlyOnce},
		{name: "question", agent: "interview", text: fixed("begin"), asks: true},
		{name: "program, repeatable", agent: "again", text: number, effects: atMost},
		{name: "canceled", agent: "slow", text: fixed("600"), cancels: true},
		{name: "slow", agent: "slow", text: func(string) string { return strconv.Itoa(1 + rand.IntN(3)) }, hook: true},
		{name: "program, canceled", agent: "once", text: fixed("600"), cancels: true, effects: onlyOnce},
	}
	queueLoads = []load{
		{name: "queue, once", agent: "careful", text: number, effects: onlyOnce},
		{name: "queue, repeatable", agent: "queued", text: number, effects: atMost},
		{name: "queue, canceled", agent: "queued", text: fixed("600"), cancels: true, effects: atMost},
	}
)

// errViolation is the error of an answer that no fault excuses.
var errViolation = errors.New("violation")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errViolation, fmt.Sprintf(format, args...))
}

// job is one task: its caller, and a second client that reads it meanwhile.
type job struct {
	c    *campaign
	load *load
	name string
	text string

	owner       int
	id, context string
	log         []hubtest.Event // the events that the caller has read
	last        int64
	state, why  string
	answers     int // messages that answered questions
	cancelAt    int // the number of events after which the caller cancels the task
	canceled    bool
	// maybe is set if a request to cancel may or may not have arrived, late if the hub refused one
	// because the task had ended.
	maybe, late bool
	// brief is set if the caller disconnects after the first event.
	brief   bool
	history history
	err     error
	// avoid is the hub that has failed last, and failures the number of requests that failed one
	// after the other.
	avoid    *node
	failures int
	resumed  int // streams
}

// hub returns a random hub, but not the one that has failed last.
func (j *job) hub() *node {
	for {
		if n := j.c.anyHub(); n != j.avoid || len(j.c.nodes) == 1 {
			return n
		}
	}
}

// count counts the failures in a row of the requests of the caller. Its error is a violation if they
// are more than the campaign allows.
func (j *job) count(n *node, err error) error {
	if err == nil {
		j.avoid, j.failures = nil, 0
		return nil
	}
	j.avoid = n
	if j.failures++; j.c.failures > 0 && j.failures > j.c.failures {
		return wrong("job %s: %d requests in a row have failed at several hubs, the last one: %v", j.name, j.failures, err)
	}
	return err
}

// request is a request to any hub.
type request struct {
	kind string
	hubtest.Request
}

// pause waits for a moment.
func pause(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most/4 + rand.N(most))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience is the time for which the clients of a campaign wait for an answer before they ask another
// hub.
const patience = 3 * time.Second

// limit returns a context for one request.
func (c *campaign) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.patience+rand.N(c.patience))
}

// call sends a request of the caller to a random hub. The act that it returns is not recorded yet.
func (j *job) call(ctx context.Context, r request, into any) (a act, err error) {
	n := j.hub()
	a, err = j.callAt(ctx, n, r, into)
	if hubtest.Status(err)/100 == 4 {
		return a, err
	}
	return a, j.count(n, err)
}

func (j *job) callAt(ctx context.Context, n *node, r request, into any) (a act, err error) {
	ctx, cancel := j.c.limit(ctx)
	defer cancel()
	a = act{kind: r.kind, hub: n.id, begin: j.c.now()}
	r.URL, r.Header = n.URL()+r.URL, slices.Concat(r.Header, j.c.as(j.owner))
	err = hubtest.Call(ctx, r.Request, into)
	if a.end = j.c.now(); err != nil {
		a.err = err.Error()
	}
	return a, err
}

// message returns the request with a message of the caller.
func (j *job) message(method, id, text string) request {
	content := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]string{"text": text}}}
	if j.id != "" && id != j.name {
		content["taskId"] = j.id
	}
	configuration := map[string]any{"returnImmediately": !j.load.blocks}
	if j.load.hook {
		configuration["taskPushNotificationConfig"] = map[string]string{"url": j.c.hooks.server.URL + "/" + j.name}
	}
	b, err := json.Marshal(map[string]any{"message": content, "configuration": configuration})
	if err != nil {
		panic(err) // cannot happen with strings
	}
	return request{method, hubtest.Request{
		URL: "/v1/a2a/" + j.load.agent + "/message:" + method, Body: string(b), Header: []string{"Idempotency-Key", id},
	}}
}

// run performs the job until its task has ended.
func (j *job) run(ctx context.Context) error {
	for j.id == "" {
		err := j.begin(ctx)
		if errors.Is(err, errViolation) {
			return err
		}
		if j.id == "" && pause(ctx, 50*time.Millisecond) != nil {
			return wrong("message %s is not accepted: %v", j.name, err)
		}
	}
	over, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()
	id, within := j.id, j.context
	wg.Go(func() { j.watch(over, id, within) })
	if err := j.follow(ctx); err != nil {
		return err
	}
	if j.load.blocks {
		return j.repeat(ctx)
	}
	return nil
}

// begin sends the message once.
func (j *job) begin(ctx context.Context) error {
	if !j.load.blocks {
		return j.read(ctx, j.message("stream", j.name, j.text))
	}
	return j.send(ctx)
}

// send sends the message by a call that waits for the end.
func (j *job) send(ctx context.Context) error {
	var got struct{ Task *taskJSON }
	n := j.hub()
	ends := n.ends.Load()
	a, err := j.callAt(ctx, n, j.message("send", j.name, j.text), &got)
	if hubtest.Status(err)/100 != 4 {
		err = j.count(n, err)
	}
	ending := ends%2 == 1 || ends != n.ends.Load() // then the answer is the task so far
	switch code := hubtest.Status(err); {
	case code/100 == 4:
		return wrong("message %s is refused: %v", j.name, err)
	case err != nil:
		j.history.add(a)
		return err // a violation, perhaps
	case got.Task == nil || got.Task.ID == "" || j.id != "" && got.Task.ID != j.id:
		return wrong("message %s is answered with %+v, and had task %q before", j.name, got.Task, j.id)
	case !ended(got.Task.Status.state()) && !ending:
		return wrong("task %s is %s after a call that waits for its end", got.Task.ID, got.Task.Status.state())
	}
	j.id, j.last = got.Task.ID, max(j.last, 1)
	a.state, a.saw = got.Task.Status.state(), got.Task.saw()
	j.history.add(a)
	return nil
}

// repeat sends the message again. The answer must be the same task.
func (j *job) repeat(ctx context.Context) error {
	for {
		err := j.send(ctx)
		if err == nil || errors.Is(err, errViolation) {
			return err
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return wrong("message %s cannot be repeated: %v", j.name, err)
		}
	}
}

// follow reads the events until the task has ended, answers its questions, and cancels it.
func (j *job) follow(ctx context.Context) error {
	for err := error(nil); !ended(j.state); {
		switch {
		case j.state == "INPUT_REQUIRED":
			err = j.answer(ctx)
		case j.cancelAt > 0 && len(j.log) >= j.cancelAt && !j.canceled && !j.late:
			err = j.cancel(ctx)
		default:
			j.resumed++
			err = j.read(ctx, request{"subscribe", hubtest.Request{
				Method: http.MethodPost, URL: "/v1/a2a/tasks/" + j.id + ":subscribe", Header: []string{"Last-Event-ID", strconv.FormatInt(j.last, 10)},
			}})
		}
		if errors.Is(err, errViolation) {
			return err
		}
		if err != nil && pause(ctx, 50*time.Millisecond) != nil {
			return wrong("task %s (%s) does not end: it is %s, after event %d; %v", j.id, j.load.name, j.state, j.last, err)
		}
	}
	return nil
}

// stops reports whether the caller has to do something other than read.
func (j *job) stops() bool {
	return j.brief || ended(j.state) || j.state == "INPUT_REQUIRED" || j.cancelAt > 0 && len(j.log) >= j.cancelAt && !j.canceled && !j.late
}

// read reads the events of one response.
func (j *job) read(ctx context.Context, r request) error {
	n := j.hub()
	ctx, cancel := j.c.limit(ctx)
	defer cancel()
	a := act{kind: r.kind, hub: n.id, begin: j.c.now()}
	r.URL, r.Header = n.URL()+r.URL, slices.Concat(r.Header, j.c.as(j.owner))
	resp, err := hubtest.Do(ctx, r.Request)
	if err != nil {
		return j.count(n, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, err := io.ReadAll(resp.Body)
		if resp.StatusCode/100 != 5 && err == nil {
			return wrong("%s of task %q after event %d at hub %s: %s: %s", r.kind, j.id, j.last, n.id, resp.Status, b)
		}
		return j.count(n, fmt.Errorf("%s: %w", resp.Status, errors.Join(err, errors.New(string(b)))))
	}
	if err := j.count(n, nil); err != nil {
		return err
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return err
		}
		if err := j.take(n.id, ev); err != nil {
			return err
		}
		a.end, a.least = j.c.now(), j.last
		j.history.add(a)
		if j.stops() {
			return nil
		}
	}
	return io.EOF
}

// take checks and adds an event. Between events are only versions of the caller's own answers.
func (j *job) take(hub string, ev hubtest.Event) error {
	var f frameJSON
	if err := json.Unmarshal([]byte(ev.Data), &f); err != nil {
		return wrong("task %s: event %s of hub %s is not JSON: %v", j.id, ev.ID, hub, err)
	}
	if f.Task == nil && f.StatusUpdate == nil && f.ArtifactUpdate == nil {
		return fmt.Errorf("the hub sends %s", ev.Data) // it is shutting down
	}
	v, err := strconv.ParseInt(ev.ID, 10, 64)
	if err != nil || v <= j.last || v != j.last+1 && j.answers == 0 {
		return wrong("task %s: hub %s sends event %q after %d: %s", j.id, hub, ev.ID, j.last, ev.Data)
	}
	j.last = v
	j.log = append(j.log, hubtest.Event{ID: ev.ID, Data: ev.Data})
	switch {
	case f.Task != nil && j.id != "" && f.Task.ID != j.id:
		return wrong("hub %s sends task %s in the stream of %s", hub, f.Task.ID, j.id)
	case f.Task != nil:
		j.id, j.context, j.state = f.Task.ID, f.Task.ContextID, f.Task.Status.state()
	case f.StatusUpdate != nil:
		j.state, j.why = f.StatusUpdate.Status.state(), f.StatusUpdate.Status.Message.Parts.text()
	}
	return nil
}

// answer answers a question. The key of the answer is that of the question, so that it counts once.
func (j *job) answer(ctx context.Context) error {
	j.answers++
	var got struct{ Task *taskJSON }
	a, err := j.call(ctx, j.message("send", fmt.Sprintf("%s-answer-%d", j.name, j.last), "yes"), &got)
	if hubtest.Status(err)/100 == 4 {
		return wrong("the answer to task %s after event %d is refused: %v", j.id, j.last, err)
	}
	if err == nil {
		a.least = j.last + 1
		j.state = "answered"
	}
	j.history.add(a)
	return err
}

// cancel cancels the task.
func (j *job) cancel(ctx context.Context) error {
	var got taskJSON
	a, err := j.call(ctx, request{"cancel", hubtest.Request{URL: "/v1/a2a/tasks/" + j.id + ":cancel", Body: "{}"}}, &got)
	switch code := hubtest.Status(err); {
	case err == nil && got.Status.state() != "CANCELED":
		return wrong("task %s is canceled, and %s", j.id, got.Status.state())
	case err == nil:
		j.canceled = true
		a.state, a.saw = got.Status.state(), got.saw()
	case code == http.StatusConflict || code == http.StatusBadRequest:
		j.late, err = true, nil
	case code/100 == 4:
		return wrong("task %s cannot be canceled: %v", j.id, err)
	default:
		j.maybe = true
	}
	j.history.add(a)
	return err
}

// watch reads the task with an id at random hubs, and lists those of its context, until ctx ends.
func (j *job) watch(ctx context.Context, id, within string) {
	for i := 0; pause(ctx, j.c.watchEvery) == nil; i++ {
		if within != "" && i%4 == 3 {
			j.list(ctx, id, within)
			continue
		}
		var got taskJSON
		a, err := j.callAt(ctx, j.c.anyHub(), request{"get", hubtest.Request{URL: "/v1/a2a/tasks/" + id}}, &got)
		if hubtest.Status(err)/100 == 4 {
			j.c.violated(wrong("get task %s at hub %s: %v", id, a.hub, err))
			return
		}
		if a.state, a.saw = got.Status.state(), got.saw(); ctx.Err() == nil {
			j.history.add(a)
		}
	}
}

// list reads the task in the list of its context.
func (j *job) list(ctx context.Context, id, within string) {
	var got struct{ Tasks []taskJSON }
	a, err := j.callAt(ctx, j.c.anyHub(), request{"list", hubtest.Request{URL: "/v1/a2a/tasks?contextId=" + within}}, &got)
	if err != nil {
		return
	}
	i := slices.IndexFunc(got.Tasks, func(t taskJSON) bool { return t.ID == id })
	if i < 0 {
		j.c.violated(wrong("task %s is not in the list of hub %s", id, a.hub))
		return
	}
	a.state = got.Tasks[i].Status.state()
	j.history.add(a)
}

// excuses are the reasons for which the design lets a run fail that was interrupted.
var excuses = []string{"interrupted", "worker", "signal: killed", "signal: terminated"}

// checkResult checks the end of the job by its kind.
func (j *job) checkResult(t *taskJSON) error {
	state, why := t.Status.state(), t.Status.Message.Parts.text()
	excused := slices.ContainsFunc(excuses, func(e string) bool { return strings.Contains(why, e) })
	switch {
	case state == "FAILED" && excused && (j.load.agent != "slow" && j.load.agent != "echo" || strings.Contains(why, "in 3 attempts")):
	case j.load.cancels && (state == "CANCELED") != j.canceled && !j.maybe && !j.late:
		return wrong("the hub canceled task %s: %v, and it is %s", j.id, j.canceled, state)
	case j.load.cancels && state == "CANCELED":
	case state != "COMPLETED":
		return wrong("task %s (%s) is %s: %q", j.id, j.load.name, state, why)
	case j.load.blocks && t.text() != j.text:
		return wrong("task %s answers %q to %q", j.id, t.text(), j.text)
	}
	if j.load.effects > 0 {
		return j.checkOutput(t, state)
	}
	return nil
}

// checkOutput checks that the text is the output of one execution without gaps, and the whole of it
// if the task is completed.
func (j *job) checkOutput(t *taskJSON, state string) error {
	chunks := strings.Fields(t.text())
	run := ""
	for i, chunk := range chunks {
		by, at, _ := strings.Cut(chunk, ":")
		if i == 0 {
			run = by
		}
		if by != run || at != strconv.Itoa(i) {
			return wrong("chunk %d of task %s, by run %s, is %q: %q", i, j.id, run, chunk, t.text())
		}
	}
	if state == "COMPLETED" && strconv.Itoa(len(chunks)) != j.text {
		return wrong("task %s is completed with %d chunks of %s", j.id, len(chunks), j.text)
	}
	return nil
}

// checkProgress checks that the progress of the agent slow is that of one run after the other: each
// one begins at zero, and counts on.
func checkProgress(log []hubtest.Event) error {
	next := 0
	for _, ev := range log {
		var f frameJSON
		if err := json.Unmarshal([]byte(ev.Data), &f); err != nil || f.StatusUpdate == nil {
			continue
		}
		text := f.StatusUpdate.Status.Message.Parts.text()
		at, err := strconv.Atoi(strings.TrimSuffix(strings.SplitN(text, " s of", 2)[0], " s"))
		if err != nil || !strings.Contains(text, " s of") {
			continue
		}
		if at != next && at != 0 {
			return wrong("event %s is %q, want %d s or another run: two runs write to the log", ev.ID, text, next)
		}
		next = at + 1
	}
	return nil
}
