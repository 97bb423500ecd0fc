package tasktree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktree"
)

// one returns a task of a tree as JSON.
func one(id, parent string) string {
	return fmt.Sprintf(`{"id":%q,"parentId":%q,"agent":"a","state":"TASK_STATE_WORKING","createdAt":"2026-11-20T10:00:00Z","ageMs":5}`, id, parent)
}

// TestParse reads hostile trees.
func TestParse(t *testing.T) {
	t.Parallel()
	deep := []string{one("0", "")}
	for i := range 40 {
		deep = append(deep, one(fmt.Sprint(i+1), fmt.Sprint(i)))
	}
	wide := make([]string, 5000)
	for i := range wide {
		wide[i] = one(fmt.Sprint("w", i), "")
	}
	for name, tt := range map[string]struct {
		tasks []string
		want  int
		more  bool
	}{
		"a chain":               {[]string{one("x", ""), one("y", "x"), one("z", "y")}, 3, false},
		"none":                  {nil, 0, false},
		"a cycle of two":        {[]string{one("x", "y"), one("y", "x")}, 0, true},
		"its own parent":        {[]string{one("x", "x")}, 0, true},
		"a cycle by repetition": {[]string{one("x", ""), one("y", "x"), one("x", "y")}, 2, false},
		"twice":                 {[]string{one("x", ""), one("x", "")}, 1, true},
		"an unknown parent":     {[]string{one("x", "none")}, 0, true},
		"depth":                 {deep, tasktree.MaxDepth, true},
		"number":                {wide, tasktree.MaxTasks, true},
		"wrong types": {[]string{
			`7`, `null`, `[]`, `"x"`, `{"id":7}`, strings.Replace(one("x", ""), `"a"`, `{"b":1}`, 1), strings.Replace(one("x", ""), `5}`, `"5"}`, 1),
			strings.Replace(one("x", ""), "WORKING", "DANCING", 1), strings.Replace(one("x", ""), "2026-11-20", "soon", 1), strings.Replace(one("x", ""), "2026", "0001", 1),
			one("", ""), one(strings.Repeat("x", 129), ""), one("a\x00b", ""), strings.Replace(one("x", ""), `"a"`, `"`+strings.Repeat("a", 2000)+`"`, 1),
			strings.Replace(one("x", ""), `5}`, `1e999}`, 1),
		}, 0, true},
	} {
		got, err := tasktree.Parse([]byte(`{"tasks":[` + strings.Join(tt.tasks, ",") + `]}`))
		if err != nil || len(got.Tasks) != tt.want {
			t.Errorf("%s: %d tasks, %v, want %d", name, len(got.Tasks), err, tt.want)
			continue
		}
		more := got.More
		for i := range got.Tasks {
			more = more || got.Tasks[i].More
		}
		if more != (tt.more || name == "a cycle by repetition") {
			t.Errorf("%s: more is %v", name, more)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `"x"`, `{}`, `{"tasks":{}}`, `{"tasks":7}`, `{"tasks":null}`} {
		if got, err := tasktree.Parse([]byte(bad)); !errors.Is(err, tasktree.ErrForm) {
			t.Errorf("Parse(%s) = %v, %v", bad, got, err)
		}
	}
}

// TestBounds limits numbers and names.
func TestBounds(t *testing.T) {
	t.Parallel()
	raw := strings.Replace(one("x", ""), `"ageMs":5`, `"ageMs":1e300,"inputTokens":-4,"outputTokens":1e300,"costUsd":1e300`, 1)
	got, err := tasktree.Parse([]byte(`{"pending":true,"more":"yes","tasks":[` + strings.Replace(raw, `"a"`, `"`+strings.Repeat("ä", 100)+`"`, 1) + `]}`))
	if err != nil || len(got.Tasks) != 1 || !got.Pending || got.More {
		t.Fatalf("Parse: %+v, %v", got, err)
	}
	x := &got.Tasks[0]
	if x.InputTokens != 0 || x.OutputTokens != 1e12 || x.CostUSD != 1e9 || x.Age() != 100*365*24*time.Hour || len(x.Agent) > 128 {
		t.Errorf("the task = %+v", x)
	}
}

// TestAppend: Parse reads what Append writes.
func TestAppend(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(9000).UTC()
	done := tasktree.Of(&task.Head{ID: "y", Agent: "b", State: task.Submitted, Visibility: task.Replied, CreatedAt: 1000, UpdatedAt: 3500}, now)
	done.ParentID, done.InputTokens, done.CostUSD = "x", 7, 0.5
	want := &tasktree.Tree{Pending: true, Tasks: []tasktree.Task{
		tasktree.Of(&task.Head{ID: "x", Agent: "a", State: task.Working, CreatedAt: 1000, StatusAt: 2000}, now), done,
	}}
	got, err := tasktree.Parse(want.Append(nil))
	want.Tasks[1].Depth = 1
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Parse(Append) mismatch (-want +got), %v:\n%s", err, diff)
	}
	if want.Tasks[0].AgeMs != 8000 || done.AgeMs != 2500 || done.State != "TASK_STATE_COMPLETED" || !done.Ended() || want.Tasks[0].Ended() {
		t.Errorf("Of = %+v", want.Tasks)
	}
}

// FuzzParse: whatever a peer sends, the tree is bounded, and each task comes after its parent.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tasks":[` + one("x", "") + `,` + one("y", "x") + `]}`))
	f.Add([]byte(`{"tasks":[{"id":"x","parentId":"x"}],"more":true}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := tasktree.Parse(b)
		if err != nil {
			return
		}
		depth := map[string]int{"": -1}
		for i := range tree.Tasks {
			x := &tree.Tasks[i]
			above, ok := depth[string(x.ParentID)]
			if _, twice := depth[string(x.ID)]; !ok || twice || x.Depth != above+1 || x.Depth >= tasktree.MaxDepth || i >= tasktree.MaxTasks {
				t.Fatalf("task %d of %s: %+v", i, b, x)
			}
			depth[string(x.ID)] = x.Depth
		}
	})
}
