package awaken

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// line is a message as people read it.
type line struct {
	Role role
	Text string
}

// linesOf returns the messages of a task's history, which lacks that of the status. Each has its own id
// and is of that task.
func linesOf(t *testing.T, x *taskJSON) []line {
	t.Helper()
	var all []line
	ids := make(map[string]bool)
	for i := range x.History {
		m := &x.History[i]
		if ids[*m.MessageID] || m.TaskID != *x.ID || m.ContextID != *x.ContextID {
			t.Errorf("message %q of the history is of task %q in context %q, want %q in %q, and each id once",
				*m.MessageID, m.TaskID, m.ContextID, *x.ID, *x.ContextID)
		}
		ids[*m.MessageID] = true
		all = append(all, line{*m.Role, textOf(m.Parts)})
	}
	return all
}

// talk is a conversation with a remote agent that waits for its caller.
type talk struct {
	agent, word, id string
	waits           state
	asked           *taskJSON
	// far is the remote agent's task.
	far *taskState
}

// TestConversations: a remote agent waits for an answer or for credentials. Its task, with the question
// and the history, is the same after the hub was killed. The answer, for which the caller does not
// wait, continues the task of the remote agent, and is not answered with the question again.
func TestConversations(t *testing.T) {
	t.Parallel()
	const question = "Which city do you mean,\nand \"when\" – today, or later?"
	whole := strings.Repeat("Rome has four seasons,\nof which spring is the best.\n", 1400) // more than 70,000 bytes
	far := newServer(t, "", "researcher")
	endpoint := `{backend: a2a, base_url: "` + far.URL + `/v1/a2a", target: researcher`
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
profile: awaken
agents:
  - {name: streamed, questions: suspend, endpoint: %s}}
  - {name: polled, questions: suspend, endpoint: %s, options: {no_streaming: true, poll_interval_ms: 50}}}
  - {name: waited, questions: suspend, endpoint: %s, options: {no_streaming: true, return_immediately: false}}}
`, endpoint, endpoint, endpoint)})
	api := h.URL() + "/v1/a2a/"
	var talks []*talk
	for _, agent := range []string{"streamed", "polled", "waited"} {
		for word, waits := range map[string]state{"ask": "TASK_STATE_INPUT_REQUIRED", "auth": "TASK_STATE_AUTH_REQUIRED"} {
			x := &talk{agent: agent, word: word, id: agent + "-" + word, waits: waits}
			body := message1(word+" "+question, fmt.Sprintf(`"taskId":%q,"contextId":"of-%s",`, x.id, x.id))
			x.asked = must[sent](t, do(t, "POST", api+agent+"/message:send", body), 200).Task
			x.far = far.latest()
			talks = append(talks, x)
		}
	}
	h.Restart() // by kill -9
	api = h.URL() + "/v1/a2a/"
	for _, x := range talks {
		t.Run(x.id, func(t *testing.T) {
			got := must[taskJSON](t, do(t, "GET", api+"tasks/"+x.id, ""), 200)
			if *got.ID != x.id || *got.ContextID != "of-"+x.id || *got.Status.State != x.waits || *got.Status.Message.Role != "ROLE_AGENT" ||
				textOf(got.Status.Message.Parts) != question || *got.Status.Message.MessageID != *x.asked.Status.Message.MessageID {
				t.Errorf("after a kill the task is %+v", got.Status)
			}
			asked := line{"ROLE_USER", x.word + " " + question}
			if diff := cmp.Diff([]line{asked}, linesOf(t, &got)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			reply := waiting(message1("hold on: Rome, later", fmt.Sprintf(`"taskId":%q,"contextId":"of-%s",`, x.id, x.id)))
			now := must[sent](t, do(t, "POST", api+x.agent+"/message:send", reply), 200).Task
			if *now.ID != x.id || *now.Status.State != "TASK_STATE_SUBMITTED" && *now.Status.State != "TASK_STATE_WORKING" || now.Status.Message != nil {
				t.Fatalf("the answer to an answer is %s with %+v, want the task at work, without the question", *now.Status.State, now.Status.Message)
			}
			far.finish(t, x.far, whole)
			if n := far.count(); n != len(talks) {
				t.Fatalf("the remote agent has %d tasks for %d conversations", n, len(talks))
			}
			if all := events(t, do(t, "GET", api+"tasks/"+x.id+":subscribe", "")); len(all) == 0 {
				t.Error("a subscription shows nothing")
			}
			got = must[taskJSON](t, do(t, "GET", api+"tasks/"+x.id, ""), 200)
			if *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != whole {
				t.Fatalf("in the end the task is %s with %d artifacts", *got.Status.State, len(got.Artifacts))
			}
			if m := got.Status.Message; m == nil || *m.Role != "ROLE_AGENT" || textOf(m.Parts) != whole {
				t.Errorf("the status of the ended task has not the whole answer")
			}
			if diff := cmp.Diff([]line{asked, {"ROLE_AGENT", question}, {"ROLE_USER", "hold on: Rome, later"}}, linesOf(t, &got)); diff != "" {
				t.Errorf("history in the end (-want +got):\n%s", diff)
			}
		})
	}
}

// count returns the number of tasks.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks)
}

// latest returns the newest task.
func (s *server) latest() *taskState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks[fmt.Sprintf("aw-task-%d", s.next)]
}

// finish waits until the answer "hold …" has reached a task, and completes it. No other task may begin.
func (s *server) finish(t *testing.T, x *taskState, said string) {
	t.Helper()
	for before := s.count(); ; {
		s.mu.Lock()
		held, woken := x.state == "TASK_STATE_WORKING" && strings.HasPrefix(x.history[len(x.history)-1], "ROLE_USER hold "), s.woken
		if held {
			x.state, x.said, x.history = "TASK_STATE_COMPLETED", said, append(x.history, "ROLE_AGENT "+said)
			s.wakeLocked()
		}
		s.mu.Unlock()
		if held {
			return
		}
		if s.count() > before {
			t.Fatal("the answer has begun another task")
		}
		select {
		case <-woken:
		case <-t.Context().Done():
			t.Fatal("the remote agent has not got the answer to its question")
		}
	}
}

// TestTimeouts: a call of a remote agent ends timeout_ms after its message, 300,000 ms by default.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	far := newServer(t, "", "researcher")
	endpoint := `endpoint: {backend: a2a, base_url: "` + far.URL + `/v1/a2a", target: researcher, options: {no_streaming: true, poll_interval_ms: 20}`
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents:\n  - {name: usual, %s}}\n  - {name: patient, %s, timeout_ms: 1200000}}\n", endpoint, endpoint)})
	want := map[string]time.Duration{"usual": 300_000 * time.Millisecond, "patient": 1_200_000 * time.Millisecond}
	began, ids := time.Now(), make(map[string]string)
	for name := range want {
		ids[name] = *must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/"+name+"/message:send", waiting(message1("hold on", ""))), 200).Task.ID
	}
	for n := 1; n <= len(want); n++ { // a polled task is stored with its deadline
		far.polled(t, fmt.Sprintf("aw-task-%d", n))
	}
	polled := time.Now()
	h.Kill()
	db, err := sqlitestore.Open(filepath.Join(h.Data(), "parley.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, want := range want {
		heads, err := db.Tasks().Find(t.Context(), a2a.TaskID(ids[name]))
		if err != nil || len(heads) != 1 {
			t.Fatalf("Find(%s) = %v, %v", ids[name], heads, err)
		}
		saved, err := db.Tasks().Sidecar(t.Context(), heads[0].Key, task.SidecarCheckpoint)
		if err != nil {
			t.Fatal(err)
		}
		var handle struct{ Deadline int64 }
		if err := json.Unmarshal(saved, &handle); err != nil {
			t.Fatalf("checkpoint %q: %v", saved, err)
		}
		if at := time.UnixMilli(handle.Deadline); at.Before(began.Add(want-time.Millisecond)) || at.After(polled.Add(want)) {
			t.Errorf("%s: the deadline is %v after the message, want %v", name, at.Sub(began), want)
		}
	}
}

// holding waits until a message with a text has begun a task, and returns its id.
func (s *server) holding(t *testing.T, text string) string {
	t.Helper()
	for {
		s.mu.Lock()
		woken := s.woken
		for id, x := range s.tasks {
			if x.history[0] == "ROLE_USER "+text {
				s.mu.Unlock()
				return id
			}
		}
		s.mu.Unlock()
		select {
		case <-woken:
		case <-t.Context().Done():
			t.Fatalf("the remote agent has not got %q", text)
		}
	}
}

// polled waits until a task was polled.
func (s *server) polled(t *testing.T, id string) {
	t.Helper()
	for len(s.seen("GET /v1/a2a/researcher/tasks/"+id)) == 0 {
		s.mu.Lock()
		asked := s.asked
		s.mu.Unlock()
		select {
		case <-asked:
		case <-t.Context().Done():
			t.Fatalf("%s is not polled", id)
		}
	}
}

// TestBusyServer: a message that the server has certainly not accepted is sent again, and so is a poll.
// A message that a gateway may have passed on is not.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	far := newServer(t, "", "busy", "lost")
	var mu sync.Mutex
	refusals := map[string][]int{"POST busy": {429, 503}, "GET busy": {504, 502, 503}, "POST lost": {504}}
	calls := make(map[string]int)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/a2a/"), "/")
		key, code := r.Method+" "+agent, 0
		mu.Lock()
		calls[key]++
		if left := refusals[key]; len(left) > 0 {
			code, refusals[key] = left[0], left[1:]
		}
		mu.Unlock()
		if code != 0 {
			w.WriteHeader(code)
			return
		}
		far.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(gateway.Close)
	endpoint := `endpoint: {backend: a2a, base_url: "` + gateway.URL + `/v1/a2a", options: {no_streaming: true, poll_interval_ms: 20}`
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents:\n  - {name: busy, %s, target: busy}}\n  - {name: lost, %s, target: lost}}\n", endpoint, endpoint)})
	got := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/busy/message:send", message1("find it, please", "")), 200).Task
	if *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != "awaken says: find it, please" {
		t.Errorf("the task of the busy agent is %+v", got.Status)
	}
	lost := must[sent](t, do(t, "POST", h.URL()+"/v1/a2a/lost/message:send", message1("find it, please", "")), 200).Task
	if *lost.Status.State != "TASK_STATE_FAILED" || !strings.Contains(textOf(lost.Status.Message.Parts), "may or may not") {
		t.Errorf("the task that a gateway lost is %s: %+v", *lost.Status.State, lost.Status.Message)
	}
	mu.Lock()
	defer mu.Unlock()
	if sends, asks, once := calls["POST busy"], calls["GET busy"], calls["POST lost"]; sends != 3 || asks < 4 || once != 1 || far.count() != 1 {
		t.Errorf("the busy agent got %d sends and %d polls, the lost one %d sends; %d tasks", sends, asks, once, far.count())
	}
}
