package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// until calls f until it reports true.
func until(t *testing.T, f func() bool) {
	t.Helper()
	for !f() {
		if t.Context().Err() != nil {
			t.Fatal("the other hub has not followed")
		}
	}
}

// status returns the status of a request.
func (m *member) status(path string) int {
	m.t.Helper()
	resp, err := hubtest.Do(m.t.Context(), hubtest.Request{Method: http.MethodGet, URL: m.URL() + path})
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// trusts returns the trust of a hub in ann.
func (m *member) trusts() string {
	m.t.Helper()
	var got struct {
		Entries []struct{ AgentID, Level string }
	}
	m.call(hubtest.Request{URL: "/api/v1/trust"}, &got)
	for _, e := range got.Entries {
		if e.AgentID == "ann" {
			return e.Level
		}
	}
	return ""
}

// An agent that is registered, changed or removed at one hub, and the trust in a caller, are known to the
// other one without a restart; also if the notifications of the database are lost.
func TestSharedState(t *testing.T) {
	t.Parallel()
	url, hubs := begin(t, "a", "b")
	a, b := hubs[0], hubs[1]
	remote := hubtest.Start(t, hubtest.Options{})
	for i, lost := range []bool{false, true} {
		name := fmt.Sprint("far", i)
		if lost {
			database := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
			pgtest.Shared(t).Exec(t, database, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()")
		}
		a.call(hubtest.Request{URL: "/api/v1/agents", Body: fmt.Sprintf(`{"name": %q, "url": "%s/a2a/echo"}`, name, remote.URL())}, new(any))
		until(t, func() bool { return b.status("/api/v1/agents/"+name) == http.StatusOK })
		if got := b.send(name, message{text: "hello", waits: true}); got.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("a task of an agent that another hub has registered is %s: %s", got.Status.State, got.text())
		}
		level := []string{"act", "propose"}[i]
		b.call(hubtest.Request{URL: "/api/v1/trust", Body: fmt.Sprintf(`{"agentId": "ann", "level": %q}`, level)}, new(any))
		until(t, func() bool { return a.trusts() == level })
		b.call(hubtest.Request{Method: http.MethodDelete, URL: "/api/v1/agents/" + name}, new(any))
		until(t, func() bool { return a.status("/api/v1/agents/"+name) == http.StatusNotFound })
	}
}

// The tasks of a caller at all hubs count towards its limit. They make room when they end at any hub.
func TestTasksOfACaller(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	a, b := join(t, url, "a", "limits: {tasks_per_caller: 3}"), join(t, url, "b", "limits: {tasks_per_caller: 3}")
	refused := func(m *member) {
		t.Helper()
		err := hubtest.Call(t.Context(), hubtest.Request{
			URL:  m.URL() + "/v1/a2a/slow/message:send",
			Body: `{"message": {"messageId": "x", "role": "ROLE_USER", "parts": [{"text": "600"}]}, "configuration": {"returnImmediately": true}}`,
		}, new(any))
		if hubtest.Status(err) != http.StatusTooManyRequests {
			t.Errorf("one more task at hub %s: %v, want status 429", m.id, err)
		}
	}
	first := a.send("slow", message{text: "600"})
	a.send("slow", message{text: "601"})
	b.send("slow", message{text: "602"})
	refused(a)
	refused(b)
	b.call(hubtest.Request{URL: "/v1/a2a/tasks/" + first.ID + ":cancel", Body: "{}"}, new(shownTask))
	b.send("slow", message{text: "603"})
	refused(a)
}
