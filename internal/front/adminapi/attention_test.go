package adminapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// countingReader counts the lists that are read.
type countingReader struct {
	adminapi.TaskReader
	lists int
}

func (c *countingReader) List(ctx context.Context, caller *op.Caller, r *op.List) (*op.Page, error) {
	c.lists++
	return c.TaskReader.List(ctx, caller, r)
}

func (c *countingReader) ListAll(ctx context.Context, r *op.List) (*op.Page, error) {
	c.lists++
	return c.TaskReader.ListAll(ctx, r)
}

// TestAttention groups the tasks that need a person by agent and reason. Callers see what concerns their own tasks, and
// administrators share one look at the tasks of all owners.
func TestAttention(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	ann := &auth.Principal{ID: "ann"}
	store := new(memstore.Store)
	e := engine.New(engine.Config{Store: store})
	now := task.MillisOf(time.Now())
	put := func(owner task.Owner, id string, entries ...task.Entry) {
		t.Helper()
		head := tasktest.Append(t, store, tasktest.NewHead(owner, a2a.TaskID(id)), append([]task.Entry{tasktest.Created(now, "hi")}, entries...)...)
		tasktest.Alter(t, store, head, func(h *task.Head) { h.Consumed = h.LastMessage })
	}
	for i := range 3 {
		put("ann", fmt.Sprint("failed", i), tasktest.Status(now+task.Millis(i), task.Failed, fmt.Sprintf("no answer within %d s", i)))
	}
	put("bob", "other", tasktest.Status(now, task.Failed, "\x1b[31mdisk\nfull\u202e"))
	put("bob", "asks", tasktest.Status(now, task.InputRequired, "?"))
	put("ann", "done", tasktest.Status(now, task.Completed, "!"))
	reader := &countingReader{TaskReader: e}
	h.Logs, h.Reader, h.Hub = e, reader, e
	list := func(who *auth.Principal, query string) (all []string) {
		t.Helper()
		var l adminjson.AttentionList
		got := as(t, h, who, "GET /api/v1/attention"+query, "")
		if err := json.Unmarshal([]byte(got.body), &l); err != nil || got.code != 200 || l.Partial {
			t.Fatalf("%d %s", got.code, got.body)
		}
		for _, a := range l.Items {
			all = append(all, fmt.Sprintf("%d %s %s of %q in %s: %s", a.Count, a.Code, a.Agent, a.Owner, a.State, a.Text))
		}
		return all
	}
	failed := `3 failed echo of "" in TASK_STATE_FAILED: no answer within 2 s`
	if diff := cmp.Diff([]string{failed}, list(ann, "")); diff != "" {
		t.Errorf("of ann (-want +got):\n%s", diff)
	}
	want := []string{
		`1 input-required echo of "bob" in TASK_STATE_INPUT_REQUIRED: agent "echo" waits for an answer of its caller, who alone can give it`,
		strings.Replace(failed, `""`, `"ann"`, 1),
		`1 failed echo of "bob" in TASK_STATE_FAILED: ` + "\x1b[31mdisk full\u202e",
	}
	reader.lists = 0
	for range 20 {
		if diff := cmp.Diff(want, list(boss, "?scope=all")); diff != "" {
			t.Fatalf("of all owners (-want +got):\n%s", diff)
		}
	}
	if reader.lists != 5 { // one of each state
		t.Errorf("20 viewers have read %d lists, want 5", reader.lists)
	}
	got := as(t, h, ann, "GET /api/v1/attention?scope=all", "")
	got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
}
