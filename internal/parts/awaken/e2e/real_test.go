package awaken

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// startAwaken starts real Awaken with agents, and returns its address.
func startAwaken(t *testing.T, specs string) string {
	t.Helper()
	bin := filepath.Join(testenv.Made(t, "internal/parts/awaken/e2e/peer/target/debug"), "awaken-peer")
	path := filepath.Join(t.TempDir(), "specs.json")
	if err := os.WriteFile(path, []byte(specs), 0o600); err != nil {
		t.Fatal(err)
	}
	p := hubtest.Launch(t, hubtest.Command{Path: bin, Args: []string{path}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, "http://127.0.0.1:"); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(p.Output())
}

// runOf is a run of Awaken as reported by its own stream.
type runOf struct {
	thread string
	events []map[string]any
	raw    string
}

// begin runs an agent of Awaken with its own API.
func begin(t *testing.T, awaken, agent, thread, text string) runOf {
	t.Helper()
	body := fmt.Sprintf(`{"agentId":%q,"threadId":%q,"messages":[{"role":"user","content":%q}]}`, agent, thread, text)
	resp, err := hubtest.Do(t.Context(), hubtest.Request{URL: awaken + "/v1/runs", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("run of %s: %s %s", agent, resp.Status, b)
	}
	r := runOf{thread: thread}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			break
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(ev.Data), &e); err != nil {
			t.Fatal(err)
		}
		r.events, r.raw = append(r.events, e), r.raw+ev.Data+"\n"
	}
	return r
}

// finish returns the final event of the run.
func (r *runOf) finish(t *testing.T) string {
	t.Helper()
	for _, e := range r.events {
		if e["event_type"] == "run_finish" {
			b, _ := json.Marshal(e)
			return string(b)
		}
	}
	t.Fatalf("the run has no end:\n%s", r.raw)
	return ""
}

// TestRealClient uses Awaken 0.6.0 as the hub's client: its runs are tasks of the hub.
func TestRealClient(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "profile: awaken\nagents: [{name: cat, command: [cat]}]\n"})
	endpoint := `"endpoint":{"backend":"a2a","base_url":"` + h.URL() + `/v1/a2a","target":%q,"options":{"poll_interval_ms":100}}`
	spec := func(id, target string) string {
		return fmt.Sprintf(`{"id":%q,"description":"An agent of the hub.",`+endpoint+`}`, id, target)
	}
	awaken := startAwaken(t, "["+strings.Join([]string{
		`{"id":"default","model_id":"scripted","max_rounds":4,"delegates":["quick","program","interviewer"]}`,
		spec("quick", "echo"), spec("program", "cat"), spec("late", "slow"), spec("interviewer", "interview"),
	}, ",")+"]")
	// Many tasks that end between the send and the subscription.
	for i := range 8 {
		for _, agent := range []string{"quick", "program"} {
			r := begin(t, awaken, agent, fmt.Sprintf("%s-%d", agent, i), "hello")
			if f := r.finish(t); !strings.Contains(f, "hello") || strings.Contains(f, "rejected") {
				t.Errorf("%s: %s", agent, f)
			}
		}
	}
	late := begin(t, awaken, "late", "late", "200ms")
	if f := late.finish(t); strings.Contains(f, "rror") {
		t.Errorf("a slow task: %s", f)
	}
	t.Run("Waiting", func(t *testing.T) {
		asked := begin(t, awaken, "interviewer", "talk", "ask 1")
		if f := asked.finish(t); !strings.Contains(f, `"status":"waiting_input"`) {
			t.Fatalf("Awaken does not wait for the answer: %s", f)
		}
	})
	t.Run("Delegation", func(t *testing.T) {
		r := begin(t, awaken, "default", "delegate", "delegate quick find it")
		if f := r.finish(t); !strings.Contains(r.raw, "agent_run_quick") || !strings.Contains(f, "find it") {
			t.Errorf("delegation: %s\n%s", f, r.raw)
		}
	})
}

// TestRealServer uses Awaken 0.6.0 behind the hub.
func TestRealServer(t *testing.T) {
	t.Parallel()
	awaken := startAwaken(t, `[{"id":"default","model_id":"scripted","max_rounds":4},{"id":"researcher","model_id":"scripted","max_rounds":4}]`)
	dir := t.TempDir()
	specs := filepath.Join(dir, "specs.json")
	spec := strings.Replace(documentSpec, "https://remote-agent.example.com", awaken, 1)
	if err := os.WriteFile(specs, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
directory: {specs: [%q]}
agents:
  - {name: by-url, url: %q}
  - {name: streamed, endpoint: {backend: a2a, base_url: "%s/v1/a2a", target: researcher}}
  - {name: polled, endpoint: {backend: a2a, base_url: "%s/v1/a2a", target: researcher, options: {no_streaming: true, poll_interval_ms: 50}}}
`, specs, awaken, awaken, awaken)})
	api := h.URL() + "/v1/a2a/"
	for _, name := range []string{"by-url", "remote-researcher", "streamed", "polled"} {
		t.Run(name, func(t *testing.T) {
			got := must[sent](t, do(t, "POST", api+name+"/message:send", message1("slow 250 found", "")), 200).Task
			if *got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || textOf(got.Artifacts[0].Parts) != "found" {
				t.Errorf("task = %s, artifacts %+v, want Awaken's artifact", *got.Status.State, got.Artifacts)
			}
		})
	}
	t.Run("Cancel", func(t *testing.T) {
		held := must[sent](t, do(t, "POST", api+"streamed/message:send", waiting(message1("slow 20000 never", ""))), 200).Task
		if got := must[taskJSON](t, do(t, "POST", api+"tasks/"+*held.ID+":cancel", ""), 200); *got.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("canceled = %s", *got.Status.State)
		}
	})
}

// TestStrictClient uses the client that behaves like Awaken's backend, according to its source,
// at a hub with Awaken's profile. It proves the continuation of a waiting task, which
// Awaken itself cannot show (see README.md).
func TestStrictClient(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "profile: awaken\n"})
	b := &backend{base: h.URL() + "/v1/a2a/echo", poll: 20 * time.Millisecond}
	for i := range 20 {
		id := fmt.Sprintf("run-%d", i)
		got, err := b.run(t.Context(), "hello", id, id)
		if err != nil || got.State != "TASK_STATE_COMPLETED" || got.Text != "hello" || got.Task != id {
			t.Fatalf("run %d = %+v, %v", i, got, err)
		}
	}
	talk := &backend{base: h.URL() + "/v1/a2a/interview", poll: 20 * time.Millisecond}
	asked, err := talk.run(t.Context(), "ask 2", "talk", "talk")
	if err != nil || asked.State != "TASK_STATE_INPUT_REQUIRED" || asked.Failure == "" {
		t.Fatalf("asked = %+v, %v", asked, err)
	}
	next, err := talk.run(t.Context(), "Ann", "talk", "talk")
	if err != nil || next.State != "TASK_STATE_INPUT_REQUIRED" || next.Failure == asked.Failure {
		t.Fatalf("after an answer = %+v, %v, want the second question and not %q", next, err, asked.Failure)
	}
	end, err := talk.run(t.Context(), "fly", "talk", "talk")
	if err != nil || end.State != "TASK_STATE_COMPLETED" || len(end.Artifacts) == 0 {
		t.Errorf("in the end = %+v, %v", end, err)
	}
	if polls := b.polls.Load() + talk.polls.Load(); polls != 0 {
		t.Errorf("the client polled %d times although it could subscribe", polls)
	}
}
