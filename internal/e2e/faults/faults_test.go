package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// talk is what the program of the other hub says, word by word.
const words = 12

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

// story is what a caller does.
type story string

const (
	talks   story = "talk"
	asks    story = "ask"
	cancels story = "cancel"
)

// run is one task with one thing that goes wrong.
type run struct {
	story story
	step  step
	act   action
}

// runs are all combinations that there are.
func runs() []run {
	var all []run
	for _, s := range []struct {
		story story
		steps []step
	}{
		{talks, []step{atConnect, atAccept, atMiddle, atFinish}},
		{asks, []step{atAccept, atQuestion, atAnswer, atFinish}},
		{cancels, []step{atMiddle, atCancel, atFinish}},
	} {
		for _, at := range s.steps {
			for _, a := range []action{killHub, killPeer, drop, truncate, delay, duplicate} {
				all = append(all, run{s.story, at, a})
			}
		}
	}
	return all
}

// lane is a pair of hubs with a proxy in between.
type lane struct {
	t         *testing.T
	hub, peer *hubtest.Hub
	proxy     *proxy
	mending   sync.WaitGroup
}

func newLane(t *testing.T, idempotent bool) *lane {
	t.Helper()
	l := &lane{t: t, peer: hubtest.Start(t, hubtest.Options{Config: peerConfig})}
	l.proxy = newProxy(t, l.peer.URL())
	config := strings.NewReplacer("URL", l.proxy.URL, "IDEMPOTENT", strconv.FormatBool(idempotent)).Replace(hubConfig)
	l.hub = hubtest.Start(t, hubtest.Options{Config: config})
	l.proxy.kill = map[action]func(){
		killHub:  func() { l.strike(l.hub) },
		killPeer: func() { l.strike(l.peer) },
	}
	return l
}

// strike kills a hub, which is started again while the others go on.
func (l *lane) strike(h *hubtest.Hub) {
	h.Kill()
	l.mending.Go(func() {
		if err := h.Start(); err != nil {
			l.t.Error(err)
		}
	})
}

// taskJSON is what the tests read of a task.
type taskJSON struct {
	ID     string `json:"id"`
	Status struct {
		State   string          `json:"state"`
		Message json.RawMessage `json:"message"`
	} `json:"status"`
	Artifacts []artifactJSON  `json:"artifacts"`
	History   json.RawMessage `json:"history"`
}

type artifactJSON struct {
	Parts []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

func (a *artifactJSON) text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (t *taskJSON) text() string {
	var b strings.Builder
	for i := range t.Artifacts {
		b.WriteString(t.Artifacts[i].text())
	}
	return b.String()
}

func (t *taskJSON) state() string { return strings.TrimPrefix(t.Status.State, "TASK_STATE_") }

func (t *taskJSON) ended() bool {
	switch t.state() {
	case "COMPLETED", "FAILED", "CANCELED", "REJECTED":
		return true
	}
	return false
}

// call makes a call; a hub that is not there gives an error.
func call(ctx context.Context, method, url, body string, into any) error {
	return hubtest.Call(ctx, hubtest.Request{Method: method, URL: url, Body: body}, into)
}

// until asks again and again until the answer is yes, or ctx ends.
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

// perform makes one run, and returns how it ended.
func (l *lane) perform(ctx context.Context, id string, r run) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	wrong := l.proxy.plan(r.step, r.act)
	task, err := l.live(ctx, id, r)
	if err != nil {
		return "", fmt.Errorf("task is %s after all: %w", task.state(), err)
	}
	l.proxy.disarm(wrong)
	l.mending.Wait()
	if task, err = l.get(ctx, id); err != nil {
		return "", err
	}
	if err := l.checkLog(ctx, task, r); err != nil {
		return "", err
	}
	return l.compare(ctx, task, r)
}

func (l *lane) get(ctx context.Context, id string) (*taskJSON, error) {
	task := new(taskJSON)
	return task, call(ctx, http.MethodGet, l.hub.URL()+"/v1/a2a/tasks/"+id, "", task)
}

// live does what the story says until the task has ended.
func (l *lane) live(ctx context.Context, id string, r run) (*taskJSON, error) {
	agent := string(r.story)
	if r.story == cancels {
		agent = string(talks)
	}
	said, answers, canceled := false, 0, false
	task := new(taskJSON)
	ended := until(ctx, 10*time.Millisecond, func() bool {
		if !said {
			said = l.say(ctx, agent, id, "ask 1 "+id, id)
			return false
		}
		now, err := l.get(ctx, id)
		if err != nil {
			said = said && !strings.Contains(err.Error(), "status 404") // the hub died before it had it
			return false
		}
		switch task = now; {
		case task.state() == "INPUT_REQUIRED":
			answers++
			l.say(ctx, agent, id, "Ada", fmt.Sprint(id, "-", answers))
		case r.story == cancels && !canceled && task.text() != "":
			canceled = call(ctx, http.MethodPost, l.hub.URL()+"/v1/a2a/tasks/"+id+":cancel", "{}", new(taskJSON)) == nil
		}
		return task.ended()
	})
	if !ended {
		return task, context.Cause(ctx)
	}
	return task, nil
}

// say sends a message of a task whose id the caller chooses.
func (l *lane) say(ctx context.Context, agent, id, text, message string) bool {
	body := fmt.Sprintf(`{"message":{"taskId":%q,"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, id, message, text)
	return call(ctx, http.MethodPost, l.hub.URL()+"/v1/a2a/"+agent+"/message:send", body, new(json.RawMessage)) == nil
}

// checkLog reads the whole log of a task: no gap, no chunk lost or doubled.
func (l *lane) checkLog(ctx context.Context, task *taskJSON, r run) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.hub.URL()+"/v1/a2a/tasks/"+task.ID+":subscribe", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	version, chunks := int64(1), ""
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "id:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			// Further messages of the caller have versions and no events.
			if n <= version || n > version+1 && r.story != asks {
				return fmt.Errorf("event %d after %d", n, version)
			}
			version = n
		}
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var frame struct {
			ArtifactUpdate *struct {
				Artifact artifactJSON `json:"artifact"`
				Append   bool         `json:"append"`
			} `json:"artifactUpdate"`
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			return err
		}
		if u := frame.ArtifactUpdate; u != nil {
			if !u.Append {
				chunks = ""
			}
			chunks += u.Artifact.text()
		}
	}
	switch {
	case lines.Err() != nil:
		return lines.Err()
	case r.story == asks:
		return nil
	case task.state() == "COMPLETED" && chunks != talk(), !strings.HasPrefix(talk(), chunks):
		return fmt.Errorf("the log of a task that is %s says %q", task.state(), chunks)
	case chunks != task.text():
		return fmt.Errorf("the log says %q, the task %q", chunks, task.text())
	}
	return nil
}

// compare compares the task with what the other hub says of it.
func (l *lane) compare(ctx context.Context, task *taskJSON, r run) (string, error) {
	var page struct {
		Tasks []taskJSON `json:"tasks"`
	}
	var there []taskJSON
	why := string(task.Status.Message)
	list := func() bool {
		err := call(ctx, http.MethodGet, l.peer.URL()+"/v1/a2a/tasks?pageSize=100&historyLength=100&includeArtifacts=true", "", &page)
		there = nil
		for _, t := range page.Tasks {
			if strings.Contains(string(t.History), task.ID+`"`) {
				there = append(there, t)
			}
		}
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
		return "", fmt.Errorf("the task is %s here (%s), and %s there (%s)", how, why, there[0].state(), there[0].Status.Message)
	case there[0].text() != task.text():
		return "", fmt.Errorf("the task says %q here, and %q there", task.text(), there[0].text())
	}
	return how, nil
}

// count returns how many runs are to be made.
func count(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("PARLEY_FAULTS"))
	if os.Getenv("PARLEY_FAULTS") == "" {
		n, err = len(runs()), nil
	}
	if err != nil || n < 1 {
		t.Fatalf("PARLEY_FAULTS=%q is not a positive number", os.Getenv("PARLEY_FAULTS"))
	}
	return n
}

// TestRemoteTasksSurviveFaults makes each combination of a story, a step and a fault in
// turn, in several lanes side by side.
func TestRemoteTasksSurviveFaults(t *testing.T) {
	all, n := runs(), count(t)
	const lanes = 3
	var mu sync.Mutex // guards the map
	ends := map[string]int{}
	var wg sync.WaitGroup
	for i := range lanes {
		l := newLane(t, i == 0)
		wg.Go(func() {
			for k := i; k < n; k += lanes {
				r := all[k%len(all)]
				if r.act == duplicate && r.step == atConnect && i != 0 {
					continue // a message that comes twice is two, unless both sides know better
				}
				how, err := l.perform(t.Context(), fmt.Sprintf("run-%d", k), r)
				if err != nil {
					t.Errorf("run %d, %s, %s at %s: %v", k, r.story, r.act, r.step, err)
					t.Logf("the hub said:\n%s\nthe other one said:\n%s", l.hub.Said(), l.peer.Said())
					return
				}
				mu.Lock()
				ends[fmt.Sprintf("%s at %s: %s %s", r.act, r.step, r.story, how)]++
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
