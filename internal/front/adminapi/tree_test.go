package adminapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// woods is a tree with a first task of clerk, named "a/1", and an error at its end.
type woods struct {
	nodes []engine.Node
	end   error
}

func (w woods) Tree(_ context.Context, c *op.Caller, id a2a.TaskID) ([]engine.Node, error) {
	if c.Principal.ID != clerk.ID || id != "a/1" {
		return nil, apierror.New(a2a.ErrTaskNotFound, "no such task")
	}
	return w.nodes, nil
}

func (w woods) WatchTree(ctx context.Context, c *op.Caller, id a2a.TaskID) iter.Seq2[engine.Node, error] {
	return func(yield func(engine.Node, error) bool) {
		nodes, err := w.Tree(ctx, c, id)
		if err == nil {
			err = w.end
		}
		for _, n := range nodes {
			if !yield(n, nil) {
				return
			}
		}
		if err != nil {
			yield(engine.Node{}, err)
		}
	}
}

func newWoods() woods {
	question := "Which \x1b[1mcolour?\n" + strings.Repeat("x", 200)
	return woods{nodes: []engine.Node{
		{Head: task.Head{ID: "a/1", ContextID: "c", Agent: "main", State: task.Completed, CreatedAt: 1000, StatusAt: 3500, UpdatedAt: 3500}, Kind: "local"},
		{Head: task.Head{ID: "b", ContextID: "c", Agent: "far", State: task.InputRequired, CreatedAt: 2000, StatusAt: 2500, CancelAt: 1}, Text: question, Parent: "a/1", Depth: 1, Kind: "remote", More: true},
		{Head: task.Head{ID: "d", ContextID: "c", Agent: "echo", State: task.Submitted, Visibility: task.Replied, CreatedAt: 2000, StatusAt: 2000, UpdatedAt: 2600}, Parent: "b", Depth: 2},
	}}
}

func TestTree(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub(), Trees: newWoods()}
	got := as(t, h, clerk, "GET /api/v1/tasks/a%2F1/tree", "")
	var tree adminapi.TaskTree
	if err := json.Unmarshal([]byte(got.body), &tree); err != nil || got.code != 200 || len(tree.Tasks) != 3 {
		t.Fatalf("tree = %d %s", got.code, got.body)
	}
	if tree.Tasks[1].AgeMs < 1000 || !strings.HasPrefix(tree.Tasks[1].Text, "Which [1mcolour? xxx") || len([]rune(tree.Tasks[1].Text)) > 121 {
		t.Errorf("the child = %+v", tree.Tasks[1])
	}
	tree.Tasks[1].AgeMs, tree.Tasks[1].Text = 0, ""
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	want := []adminapi.TreeTask{
		{TaskID: "a/1", ContextID: "c", Agent: "main", Kind: "local", State: "TASK_STATE_COMPLETED", CreatedAt: at(1000), ChangedAt: at(3500), AgeMs: 2500},
		{TaskID: "b", ParentID: "a/1", ContextID: "c", Depth: 1, Agent: "far", Kind: "remote", State: "TASK_STATE_INPUT_REQUIRED", CreatedAt: at(2000), ChangedAt: at(2500), CancelRequested: true, More: true},
		{TaskID: "d", ParentID: "b", ContextID: "c", Depth: 2, Agent: "echo", State: "TASK_STATE_COMPLETED", CreatedAt: at(2000), ChangedAt: at(2600), AgeMs: 600},
	}
	if diff := cmp.Diff(want, tree.Tasks); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	for request, code := range map[string]int{
		"GET /api/v1/tasks/none/tree": 404, "GET /api/v1/tasks/none/tree/events": 404, "GET /api/v1/tasks/tree": 404,
		"GET /api/v1/tasks//tree": 404, "GET /api/v1/tasks/b": 404, "POST /api/v1/tasks/b/tree": 405,
	} {
		if got := as(t, h, clerk, request, ""); got.code != code {
			t.Errorf("%s = %d %s, want %d", request, got.code, got.body, code)
		}
	}
	// A task of another caller gives the same error as a missing one, for an administrator,
	// too.
	foreign, missing := as(t, h, boss, "GET /api/v1/tasks/a%2F1/tree", ""), as(t, h, boss, "GET /api/v1/tasks/none/tree", "")
	if foreign.code != 404 || foreign.body != missing.body {
		t.Errorf("a foreign task = %d %s, a missing one %s", foreign.code, foreign.body, missing.body)
	}
	if got := as(t, &adminapi.Handler{Hub: newHub()}, clerk, "GET /api/v1/tasks/b/tree", ""); got.code != 404 {
		t.Errorf("without trees: %d", got.code)
	}
}

// TestTreeEvents checks that a complete stream ends with the event "end", and a broken one does
// not.
func TestTreeEvents(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		end  error
		want string
	}{{nil, "a/1 b d end"}, {engine.ErrDraining, "a/1 b d"}} {
		w := newWoods()
		w.end = tt.end
		h := &adminapi.Handler{Hub: newHub(), Trees: w}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), clerk)))
		}))
		resp, err := srv.Client().Get(srv.URL + "/api/v1/tasks/a%2F1/tree/events")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var n adminapi.TreeTask
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &n) == nil && n.TaskID != "" {
				got = append(got, string(n.TaskID))
			}
			if lines.Text() == "event: end" {
				got = append(got, "end")
			}
		}
		resp.Body.Close()
		srv.Close()
		if resp.Header.Get("Content-Type") != "text/event-stream" || strings.Join(got, " ") != tt.want {
			t.Errorf("with %v the stream says %q as %s, want %s", tt.end, got, resp.Header.Get("Content-Type"), tt.want)
		}
	}
}
