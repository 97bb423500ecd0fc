package adminapi_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// logged returns a handler with a task of clerk that has ended, and its id.
func logged(t *testing.T) (*adminapi.Handler, a2a.TaskID) {
	t.Helper()
	e, _ := enginetest.Start(t, engine.Config{Store: new(memstore.Store)}, enginetest.Agent("echo", builtin.Agents()[0].Executor))
	body := []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"one two"}]}`)
	a, err := e.Send(t.Context(), &op.Caller{Principal: clerk}, &op.Send{Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: body}})
	if err != nil {
		t.Fatal(err)
	}
	return &adminapi.Handler{Hub: e, Logs: e, Trees: e}, a.Head.ID
}

// TestTaskLog checks that a log has every entry with its time, in pages, and no data that was
// stored for the hub alone.
func TestTaskLog(t *testing.T) {
	t.Parallel()
	h, id := logged(t)
	var kinds []string
	after := int64(0)
	for {
		var l adminjson.TaskLog
		got := as(t, h, clerk, "GET /api/v1/tasks/"+string(id)+"/log?limit=2&after="+strconv.FormatInt(after, 10), "")
		if err := json.Unmarshal([]byte(got.body), &l); err != nil || got.code != 200 || len(l.Entries) > 2 {
			t.Fatalf("log = %d %s", got.code, got.body)
		}
		for _, e := range l.Entries {
			if after++; e.Version != after || e.Time.IsZero() {
				t.Errorf("entry %+v, want version %d with a time", e, after)
			}
			kinds = append(kinds, e.Kind)
		}
		if strings.Contains(got.body, clerk.ID) || strings.Contains(got.body, "call") {
			t.Errorf("the log has data of the hub: %s", got.body)
		}
		if l.Next == 0 {
			break
		}
	}
	if got := strings.Join(kinds, " "); got != "created status artifact artifact status" {
		t.Errorf("entries = %s", got)
	}
	frames := as(t, h, clerk, "GET /api/v1/tasks/"+string(id)+"/log?after=2&limit=1&frames=v0.3", "")
	if !strings.Contains(frames.body, `"kind":"artifact-update"`) || !strings.Contains(frames.body, `"frames":[`) {
		t.Errorf("frames of v0.3: %d %s", frames.code, frames.body)
	}
	for _, query := range []string{"frames=morse", "after=x", "after=-1", "after=6", "limit=0", "limit=1001", "limit=x"} {
		if got := as(t, h, clerk, "GET /api/v1/tasks/"+string(id)+"/log?"+query, ""); got.code != 400 {
			t.Errorf("?%s = %d %s", query, got.code, got.body)
		}
	}
	for _, path := range []string{"/log", "/log/events"} {
		foreign, missing := as(t, h, boss, "GET /api/v1/tasks/"+string(id)+path, ""), as(t, h, boss, "GET /api/v1/tasks/none"+path, "")
		if foreign.code != 404 || foreign.body != missing.body {
			t.Errorf("a foreign log = %d %s, a missing one %s", foreign.code, foreign.body, missing.body)
		}
		if got := as(t, h, clerk, "GET /api/v1/tasks/"+string(id)+path+"?scope=all", ""); got.code != 403 {
			t.Errorf("a clerk reads all logs: %d", got.code)
		}
	}
}

// TestTaskLogEvents checks that a stream begins after a version and ends with the task.
func TestTaskLogEvents(t *testing.T) {
	t.Parallel()
	h, id := logged(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), clerk)))
	}))
	defer srv.Close()
	for after, want := range map[string]string{"": "1 2 3 4 5 end", "3": "4 5 end", "5": "end"} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/api/v1/tasks/"+string(id)+"/log/events", nil)
		r.Header.Set("Last-Event-ID", after)
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if v, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				got = append(got, v)
			} else if lines.Text() == "event: end" {
				got = append(got, "end")
			}
		}
		_ = resp.Body.Close()
		if all := strings.Join(got, " "); all != want {
			t.Errorf("after %q: %s, want %s", after, all, want)
		}
	}
}
