package sqlitestore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// A page of heads with large messages ends early, by whatever it is listed; the pages together have
// each task once, in order.
func TestPagesAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	s := openTest(t, filepath.Join(t.TempDir(), "db"), Options{}).Tasks()
	large := strings.Repeat("x", 2<<20)
	var want []a2a.TaskID
	for i := range 20 {
		h := tasktest.NewHead("anna", a2a.TaskID(fmt.Sprintf("t-%02d", i)))
		h.Agent, h.ContextID = task.Agent(fmt.Sprint("agent", i%10)), "context" // more groups than are read at once
		tasktest.Append(t, s, h, tasktest.Created(tasktest.At(int64(i)), "hello"), tasktest.Status(tasktest.At(int64(i)), task.Working, large))
		want = append(want, h.ID)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for name, tt := range map[string]struct {
		q    task.Query
		want []a2a.TaskID
	}{
		"owner":      {task.Query{Owner: "anna"}, newest},
		"all owners": {task.Query{AllOwners: true}, newest},
		"context":    {task.Query{Owner: "anna", ContextID: "context"}, newest},
		"ids":        {task.Query{Owner: "anna", IDPrefix: "t-"}, want},
	} {
		q := tt.q
		q.Limit = 100
		var got []a2a.TaskID
		for more := true; more; {
			page, err := s.List(t.Context(), &q)
			if err != nil || len(page.Heads) == 0 || len(page.Heads) > 5 || page.Total != 20 && tt.q.IDPrefix == "" {
				t.Fatalf("%s: %d heads of %d, %v; want a few of 20", name, len(page.Heads), page.Total, err)
			}
			for i := range page.Heads {
				got = append(got, page.Heads[i].ID)
			}
			last := page.Heads[len(page.Heads)-1]
			q.After, more = task.Cursor{At: last.StatusAt, Key: last.Key}, page.More
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: tasks of all pages mismatch (-want +got):\n%s", name, diff)
		}
	}
}
