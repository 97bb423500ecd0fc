package adminapi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// shelf has one task of clerk.
type shelf struct{ asked, all *op.List }

var one = task.Head{ID: "t1", ContextID: "c", Agent: "echo", State: task.Working, CreatedAt: 1000, StatusAt: 2000}

func (s *shelf) Get(_ context.Context, c *op.Caller, r *op.Get) (*engine.Answer, error) {
	if c.Principal.ID != clerk.ID || r.ID != one.ID {
		return nil, apierror.New(a2a.ErrTaskNotFound, "no such task")
	}
	return &engine.Answer{Answer: op.Answer{Head: one}}, nil
}

func (s *shelf) List(_ context.Context, _ *op.Caller, r *op.List) (*op.Page, error) {
	s.asked = r
	return &op.Page{Tasks: []op.Answer{{Head: one}}, NextPageToken: "more"}, nil
}

func (s *shelf) ListAll(_ context.Context, r *op.List) (*op.Page, error) {
	s.all = r
	foreign := one
	foreign.Owner = "org:acme"
	return &op.Page{Tasks: []op.Answer{{Head: foreign}}}, nil
}

// TestTasksOfAllOwners checks that administrators list the tasks of all owners, and other callers
// do not, however they ask.
func TestTasksOfAllOwners(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	s := new(shelf)
	h.Reader = s
	got := as(t, h, boss, "GET /api/v1/tasks?scope=all&agent=echo&state=TASK_STATE_WORKING&pageSize=7&pageToken=p", "")
	want := map[string]any{"tasks": []any{map[string]any{
		"taskId": "t1", "contextId": "c", "agent": "echo", "owner": "org:acme", "state": "TASK_STATE_WORKING",
		"createdAt": "1970-01-01T00:00:01Z", "changedAt": "1970-01-01T00:00:02Z",
	}}}
	if diff := cmp.Diff(want, got.decode(t)); diff != "" || s.asked != nil {
		t.Errorf("list mismatch (-want +got):\n%s", diff)
	}
	wantAsked := &op.List{Target: op.Target{Agent: "echo"}, State: task.Working, PageSize: 7, PageToken: "p"}
	if diff := cmp.Diff(wantAsked, s.all); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	s.all = nil
	for _, query := range []string{
		"?scope=all", "?scope=&scope=all", "?scope=all&scope=own", "?%73cope=all", "/t1?scope=all", "/t1?owner=org:acme&scope=all",
	} {
		for _, request := range []string{"GET", "HEAD"} {
			if got := as(t, h, clerk, request+" /api/v1/tasks"+query, ""); got.code != 403 {
				t.Errorf("%s %s of a caller: %d %s, want 403", request, query, got.code, got.body)
			}
		}
	}
	mine := as(t, h, boss, "GET /api/v1/tasks?scope=mine", "")
	mine.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	if s.all != nil || s.asked != nil {
		t.Error("a refused request reads tasks")
	}
}

func TestTasksWithTheirAgents(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	s := new(shelf)
	h.Reader = s
	want := map[string]any{
		"taskId": "t1", "contextId": "c", "agent": "echo", "state": "TASK_STATE_WORKING",
		"createdAt": "1970-01-01T00:00:01Z", "changedAt": "1970-01-01T00:00:02Z",
	}
	got := as(t, h, clerk, "GET /api/v1/tasks/t1", "")
	if diff := cmp.Diff(want, got.decode(t)); diff != "" {
		t.Errorf("task mismatch (-want +got):\n%s", diff)
	}
	foreign := as(t, h, boss, "GET /api/v1/tasks/t1", "")
	foreign.failure(t, 404, "NOT_FOUND", "TASK_NOT_FOUND")
	got = as(t, h, clerk, "GET /api/v1/tasks?agent=echo&context=c&state=TASK_STATE_WORKING&pageSize=7&pageToken=p", "")
	if diff := cmp.Diff(map[string]any{"tasks": []any{want}, "nextPageToken": "more"}, got.decode(t)); diff != "" {
		t.Errorf("list mismatch (-want +got):\n%s", diff)
	}
	wantAsked := &op.List{Target: op.Target{Agent: "echo"}, ContextID: "c", State: task.Working, PageSize: 7, PageToken: "p"}
	if diff := cmp.Diff(wantAsked, s.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	as(t, h, clerk, "GET /api/v1/tasks?since=1970-01-01T00:00:01Z&until=1970-01-01T01:00:02%2B01:00", "")
	if diff := cmp.Diff(&op.List{Since: 1000, Until: 2000, PageSize: 50}, s.asked); diff != "" {
		t.Errorf("times mismatch (-want +got):\n%s", diff)
	}
	as(t, h, boss, "GET /api/v1/tasks?scope=all&owner=ann&idPrefix=0193", "")
	if diff := cmp.Diff(&op.List{Owner: "ann", IDPrefix: "0193", PageSize: 50}, s.all); diff != "" {
		t.Errorf("owner and prefix mismatch (-want +got):\n%s", diff)
	}
	as(t, h, clerk, "GET /api/v1/tasks?q=+Invoice+4711+&until=1970-01-01T00:00:01Z", "")
	if diff := cmp.Diff(&op.List{Text: "Invoice 4711", Until: 1000, PageSize: 50}, s.asked); diff != "" {
		t.Errorf("search mismatch (-want +got):\n%s", diff)
	}
	for _, query := range []string{
		"?state=tired", "?pageSize=0", "?pageSize=101", "?pageSize=x", "?since=yesterday", "?until=0", "?since=1960-01-01T00:00:00Z", "?owner=ann",
		"?idPrefix=019", "?idPrefix=0193&context=c", "?idPrefix=0193&since=1970-01-01T00:00:01Z", "?idPrefix=0193&until=1970-01-01T00:00:01Z",
		"?q=the", "?q=%F0%9F%8E%89", "?q=!", "?idPrefix=0193&q=x", "?q=" + strings.Repeat("x", 1025),
	} {
		got := as(t, h, clerk, "GET /api/v1/tasks"+query, "")
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
}

var _ adminapi.TaskReader = (*shelf)(nil)
