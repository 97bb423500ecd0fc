package relays

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

const mockFile = `
a2a_agents:
  - name: asker
    responses:
      - steps:
          - ask: Which city?
          - artifact: {parts: [{text: "{{text}} it is"}]}
  - name: guard
    responses:
      - steps:
          - authorize: May I?
          - artifact: {parts: [{text: "{{text}} it is"}]}
`

// ways are the configurations of an agent; %s is its address.
var ways = map[string]string{
	"url":    `url: "%s"`,
	"stream": `endpoint: {backend: a2a, base_url: "%s"}`,
	"poll":   `endpoint: {backend: a2a, base_url: "%s", options: {no_streaming: true, poll_interval_ms: 100}}`,
	"block":  `endpoint: {backend: a2a, base_url: "%s", options: {no_streaming: true, return_immediately: false}}`,
}

// startMock starts parley mock and returns its address.
func startMock(t *testing.T, file string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mock.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := hubtest.Addr(t)
	p := hubtest.Launch(t, hubtest.Command{Args: []string{"mock", path, "--listen", addr}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Await(ctx, "Try:"); err != nil {
		t.Fatal(err)
	}
	return "http://" + addr
}

type answer struct {
	Task struct {
		ID     string
		Status struct {
			State   string
			Message struct{ Parts []struct{ Text string } }
		}
		Artifacts []struct{ Parts []struct{ Text string } }
	}
}

// said returns the text of all artifacts.
func (a *answer) said() string {
	var all strings.Builder
	for _, x := range a.Task.Artifacts {
		for _, p := range x.Parts {
			all.WriteString(p.Text)
		}
	}
	return all.String()
}

// send sends a message to an agent of the hub, for the given task unless that is empty.
func send(t *testing.T, hub, agent, task, text string, header ...string) *answer {
	t.Helper()
	more := ""
	if task != "" {
		more = fmt.Sprintf(`,"taskId":%q`, task)
	}
	a := new(answer)
	err := hubtest.Call(t.Context(), hubtest.Request{
		URL:    hub + "/v1/a2a/" + agent + "/message:send",
		Body:   fmt.Sprintf(`{"message":{"messageId":"m-%s","role":"ROLE_USER","parts":[{"text":%q}]%s}}`, text, text, more),
		Header: header,
	}, a)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestMockBehindHub answers the question of a mock, and grants its permission request, through
// a hub with each kind of configuration.
func TestMockBehindHub(t *testing.T) {
	t.Parallel()
	mock := startMock(t, mockFile)
	config := "agents:\n"
	for way, how := range ways {
		for _, agent := range []string{"asker", "guard"} {
			config += fmt.Sprintf("  - name: %s-%s\n    questions: suspend\n    %s\n", agent, way, fmt.Sprintf(how, mock+"/a2a/"+agent))
		}
	}
	hub := hubtest.Start(t, hubtest.Options{Config: config})
	for way := range ways {
		for agent, state := range map[string]string{"asker": "TASK_STATE_INPUT_REQUIRED", "guard": "TASK_STATE_AUTH_REQUIRED"} {
			t.Run(agent+"/"+way, func(t *testing.T) {
				t.Parallel()
				name := agent + "-" + way
				a := send(t, hub.URL(), name, "", "begin")
				if a.Task.Status.State != state || len(a.Task.Status.Message.Parts) != 1 {
					t.Fatalf("the task is %+v, want %s with a message", a, state)
				}
				a = send(t, hub.URL(), name, a.Task.ID, "Paris")
				for a.Task.Status.State == "TASK_STATE_AUTH_REQUIRED" || a.Task.Status.State == "TASK_STATE_WORKING" {
					a = await(t, hub.URL(), name, a.Task.ID)
				}
				if a.Task.Status.State != "TASK_STATE_COMPLETED" || a.said() != "Paris it is" {
					t.Errorf("the task is %+v, want the mock's answer", a)
				}
			})
		}
	}
}

// await subscribes to a task and returns its state after the end of the stream.
func await(t *testing.T, hub, agent, id string) *answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp, err := hubtest.Do(ctx, hubtest.Request{Method: "POST", URL: hub + "/v1/a2a/" + agent + "/tasks/" + id + ":subscribe"})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range hubtest.Events(resp.Body) {
		continue
	}
	a := new(answer)
	if err := hubtest.Call(ctx, hubtest.Request{URL: hub + "/v1/a2a/" + agent + "/tasks/" + id}, &a.Task); err != nil {
		t.Fatal(err)
	}
	return a
}
