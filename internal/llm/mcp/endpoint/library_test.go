package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
	"github.com/parley-a2a/parley/internal/outbound/inprocess"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(hubtest.M{M: m}, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// send sends a message to an agent and returns its task.
func send(t *testing.T, hub *hubtest.Hub, agent, text string) *a2a.Task {
	t.Helper()
	var answer struct{ Task *a2a.Task }
	err := hubtest.Call(t.Context(), hubtest.Request{
		URL:    hub.URL() + "/v1/a2a/" + agent + "/message:send",
		Body:   `{"message":{"messageId":"m-` + text + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}`,
		Header: []string{"A2A-Version", "1.0"},
	}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Task
}

func setNote(t *testing.T, hub *hubtest.Hub, key, value string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"value": value})
	resp, err := hubtest.Do(t.Context(), hubtest.Request{
		Method: "PUT", URL: hub.URL() + "/api/v1/memory/note?key=" + key, Body: string(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Fatalf("set note %s: %d %s", key, resp.StatusCode, b)
	}
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	l := &endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Patience: -1}}
	task := send(t, hub, "echo", "hello")
	setNote(t, hub, "plans/next%20week", "swim")
	setNote(t, hub, "facts", `{"a":1}`)

	uri, note := endpoint.TaskURI(task.ID), "parley://memory/plans/next%20week"
	artifact := endpoint.ArtifactURI(task.ID, task.Artifacts[0].ID)
	var got []string
	for cursor, first := "", true; cursor != "" || first; first = false {
		page, next, err := l.List(t.Context(), cursor)
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		for _, r := range page {
			got = append(got, r.URI)
		}
		cursor = next
	}
	if diff := cmp.Diff([]string{uri, "parley://memory/facts", note}, got); diff != "" {
		t.Errorf("List mismatch (-want +got):\n%s", diff)
	}

	read := func(uri string) *a2a.Part {
		t.Helper()
		parts, err := l.Read(t.Context(), uri)
		if err != nil || len(parts) != 1 {
			t.Fatalf("Read(%s): %v, %v", uri, parts, err)
		}
		return parts[0]
	}
	if p := read(uri); !strings.Contains(p.Text(), string(task.ID)) || p.MediaType != "application/json" {
		t.Errorf("task = %+v", p)
	}
	if p := read(artifact); p.Text() != guard.Label(guard.Agent("echo"), "hello") {
		t.Errorf("artifact = %+v", p)
	}
	if p := read(note); p.Text() != "swim" || p.MediaType != "text/plain" {
		t.Errorf("note = %+v", p)
	}
	if p := read("parley://memory/facts"); p.MediaType != "application/json" {
		t.Errorf("note with JSON = %+v", p)
	}
	for _, uri := range []string{
		"parley://tasks/nothing", "parley://tasks/", uri + "/artifacts/nothing", uri + "/artifacts/", uri + "/more",
		"parley://memory/nothing", "parley://memory/", "parley://other/x", "file:///etc/passwd", "parley://tasks/%zz",
	} {
		if _, err := l.Read(t.Context(), uri); !errors.Is(err, mcpserver.ErrNoResource) {
			t.Errorf("Read(%s): %v", uri, err)
		}
	}
}

// A caller that the hub does not know gets the hub's error.
func TestRefused(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{Config: "auth:\n  api_keys:\n    a-long-enough-key-for-ann: {agent_id: ann}\n"})
	_, err := (&endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Patience: -1}}).Read(t.Context(), "parley://tasks/x")
	if err == nil || !strings.Contains(err.Error(), "Authentication required") {
		t.Errorf("Read: %v", err)
	}
	_, err = (&endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Key: "a-long-enough-key-for-ann", Patience: -1}}).Read(t.Context(), "parley://tasks/x")
	if !errors.Is(err, mcpserver.ErrNoResource) {
		t.Errorf("Read with a key: %v", err)
	}
}

// A watch reports changes, also after the hub was killed and restarted.
func TestWatch(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	l := &endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Patience: -1}}
	setNote(t, hub, "plan", "one")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changes, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		defer close(ended)
		for _, err := range l.Watch(ctx, "parley://memory/plan") {
			if err != nil {
				ended <- err
				return
			}
			changes <- struct{}{}
		}
	}()
	wait := func(what string) {
		t.Helper()
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatalf("%s was not reported", what)
		}
	}
	wait("the beginning")
	setNote(t, hub, "plan-b", "other")
	setNote(t, hub, "plan", "two")
	wait("a change")
	hub.Kill()
	hub.Restart()
	wait("the beginning after a restart")
	setNote(t, hub, "plan", "three")
	wait("a change after a restart")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Watch: %v", err)
	}

	for _, err := range l.Watch(t.Context(), "parley://tasks/nothing") {
		if !errors.Is(err, mcpserver.ErrNoResource) {
			t.Errorf("Watch of nothing: %v", err)
		}
	}
}

// The watch of a task ends with the task.
func TestWatchTask(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	l := &endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Patience: -1}}
	task := send(t, hub, "interview", "hello")
	changes := 0
	for _, err := range l.Watch(t.Context(), endpoint.TaskURI(task.ID)) {
		if err != nil {
			t.Fatalf("Watch: %v", err)
		}
		if changes++; changes == 1 {
			err := hubtest.Call(t.Context(), hubtest.Request{
				URL: hub.URL() + "/v1/a2a/tasks/" + string(task.ID) + ":cancel", Body: "{}", Header: []string{"A2A-Version", "1.0"},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if changes < 2 {
		t.Errorf("%d changes, want the beginning and the end", changes)
	}
}

// Watch of a task that has ended ends at once: there is nothing left to report.
func TestWatchEndedTask(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, hubtest.Options{})
	l := &endpoint.Library{Hub: &hubclient.Hub{URL: hub.URL(), Patience: -1}}
	ended := send(t, hub, "echo", "hello")
	for _, err := range l.Watch(t.Context(), endpoint.TaskURI(ended.ID)) {
		t.Errorf("Watch reports a change, %v", err)
		break
	}
}

// The result of a task is read as soon as the end of the task is known, although the hub stores it
// shortly after.
func TestResultOfATaskThatHasJustEnded(t *testing.T) {
	t.Parallel()
	const key = "session/s/a2a/echo/t1/result"
	note, err := json.Marshal(map[string]any{"key": key, "category": "a2a-result", "value": "one"})
	if err != nil {
		t.Fatal(err)
	}
	var stored atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/memory/note", func(w http.ResponseWriter, _ *http.Request) {
		if !stored.Load() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":404,"message":"there is no such note"}}`)
			return
		}
		_, _ = w.Write(note)
	})
	mux.HandleFunc("/api/v1/tasks/t1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"id":"t1","state":"TASK_STATE_COMPLETED","changedAt":%q}`, time.Now().Format(time.RFC3339Nano))
	})
	mux.HandleFunc("/api/v1/memory/events", func(w http.ResponseWriter, _ *http.Request) {
		stored.Store(true)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", note)
	})
	l := &endpoint.Library{
		Hub: &hubclient.Hub{HTTP: &http.Client{Transport: &inprocess.Transport{Handler: mux}}}, Guard: guard.Guard{Policy: guard.Off},
	}
	parts, err := l.Read(t.Context(), endpoint.NoteURI(key))
	if err != nil || len(parts) != 1 || parts[0].Text() != "one" {
		t.Errorf("Read = %v, %v", parts, err)
	}
}
