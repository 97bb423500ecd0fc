package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/task"
)

// treeOf returns a show with a tree, and its output.
func treeOf(drawn, json bool) (*show, *bytes.Buffer) {
	out := new(bytes.Buffer)
	s := newShow(&OS{Stdout: out, Stderr: out}, &output{format: format{JSON: json}}, true)
	s.tree = &treeShow{out: out, drawn: drawn, format: format{JSON: json}, at: make(map[a2a.TaskID]int)}
	return s, out
}

// leaf is a task that ended after a minute.
func leaf(id, parent a2a.TaskID, agent task.Agent, kind string) *adminapi.TreeTask {
	return &adminapi.TreeTask{TaskID: id, ParentID: parent, Agent: agent, Kind: kind, State: "TASK_STATE_COMPLETED", AgeMs: 61_000}
}

func TestTreeIsDrawn(t *testing.T) {
	t.Parallel()
	s, out := treeOf(true, false)
	for _, n := range []*adminapi.TreeTask{
		leaf("1", "", "main", "local"), leaf("2", "1", "planner", "command"), leaf("3", "1", "far", "remote"),
		leaf("4", "2", "echo", "local"), leaf("5", "2", "evil\x1b[2J\nagent", "local"),
	} {
		if err := s.node(n); err != nil {
			t.Fatal(err)
		}
	}
	asks := leaf("3", "1", "far", "remote")
	asks.State, asks.Text, asks.AgeMs, asks.CancelRequested, asks.More = "TASK_STATE_INPUT_REQUIRED", "Which\tcolour?", 3_723_000, true, true
	if err := s.node(asks); err != nil {
		t.Fatal(err)
	}
	drawings := strings.Split(out.String(), "\x1b[?7l")
	want := strings.Join([]string{
		"main                 completed       1m01s",
		"├─ planner           completed       1m01s",
		"│  ├─ echo           completed       1m01s",
		"│  └─ evil[2J agent  completed       1m01s",
		"└─ far (remote)      input-required  1h02m  (further tasks are not shown) Which colour?",
		"\x1b[?7h",
	}, "\n")
	if diff := cmp.Diff(want, drawings[len(drawings)-1]); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
	// The first task alone is not drawn, and each drawing replaces the last.
	if len(drawings) != 6 || drawings[0] != "" || !strings.HasSuffix(drawings[2], "\x1b[3A\x1b[J") {
		t.Errorf("%d drawings: %q", len(drawings), drawings)
	}
	if before := out.Len(); s.node(asks) != nil || out.Len() != before {
		t.Error("what is known is drawn again")
	}
}

func TestTreeAsLines(t *testing.T) {
	t.Parallel()
	for json, want := range map[bool]string{
		false: "1\t-\tcompleted\tmain\t1m01s\t\n2\t1\tcompleted\tfar\t1m01s\t\nlater\n",
		true: `{"node":{"taskId":"1","contextId":"","depth":0,"agent":"main","kind":"local","state":"TASK_STATE_COMPLETED","createdAt":"0001-01-01T00:00:00Z","changedAt":"0001-01-01T00:00:00Z","ageMs":61000}}
{"node":{"taskId":"2","parentId":"1","contextId":"","depth":0,"agent":"far","kind":"remote","state":"TASK_STATE_COMPLETED","createdAt":"0001-01-01T00:00:00Z","changedAt":"0001-01-01T00:00:00Z","ageMs":61000}}
`,
	} {
		s, out := treeOf(false, json)
		for _, n := range []*adminapi.TreeTask{leaf("1", "", "main", "local"), leaf("2", "1", "far", "remote")} {
			if err := s.node(n); err != nil {
				t.Fatal(err)
			}
		}
		if !json {
			// The reply comes after the tree.
			ev := a2a.NewArtifactUpdateEvent(&a2a.Task{ID: "1"}, "x", a2a.NewTextPart("later"))
			if err := s.event(&a2a.Task{ID: "1"}); err != nil {
				t.Fatal(err)
			}
			if err := s.event(ev); err != nil || strings.Contains(out.String(), "later") {
				t.Errorf("%v, the reply is among the tree: %q", err, out)
			}
			if err := s.finish(); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	}
}

// TestHostileTree checks that invalid data of a server neither fills the memory nor blocks the
// command.
func TestHostileTree(t *testing.T) {
	t.Parallel()
	s, _ := treeOf(true, false)
	s.tree.out = new(bytes.Buffer)
	for i := range 3000 {
		n := leaf(a2a.TaskID(fmt.Sprint(i)), a2a.TaskID(fmt.Sprint(3000-i)), "a", "")
		if s.tree.put(n); i%1000 == 0 && s.tree.shown() {
			if rows := s.tree.table(); len(rows) > treeRows {
				t.Errorf("%d rows", len(rows))
			}
		}
	}
	if n := len(s.tree.nodes); n != treeMost {
		t.Errorf("%d tasks are taken in, want %d", n, treeMost)
	}
	for body, want := range map[string]bool{
		"data: {}\n\ndata: nonsense\n\n: c\n\n":                    false,
		"data: {\"taskId\":\"1\"}\n\nevent: end\ndata: {}\n\n":     true,
		"data: " + strings.Repeat("x", maxEvent+10) + "\n\n":       false,
		"data: {\"taskId\":7}\n\ndata: {\"state\":\"none\"}\n\n\n": false,
	} {
		s, _ := treeOf(false, false)
		w := &treeWatch{show: s}
		if got := w.events(strings.NewReader(body)); got != want {
			t.Errorf("%.60q: over is %v, want %v", body, got, want)
		}
	}
}

// TestTreeOfOtherServers checks that servers without trees are called once, and that temporary
// errors are retried.
func TestTreeOfOtherServers(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{404: true, 401: true, 302: true, 200: true, 429: false, 503: false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		}))
		s, _ := treeOf(false, false)
		w := &treeWatch{hub: hubFlags{URL: srv.URL}, id: "a/b", show: s}
		if got := w.stream(t.Context()); got != want {
			t.Errorf("%d: over is %v, want %v", code, got, want)
		}
		srv.Close()
	}
}

// TestTreeIsTakenUpAgain checks that a broken stream is requested again, and that known tasks
// are printed once.
func TestTreeIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath() + " " + r.Header.Get("Authorization"); got != "/api/v1/tasks/a%2Fb/tree/events Bearer key" {
			t.Errorf("asked for %s", got)
		}
		if asked.Add(1) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"taskId\":\"1\",\"agent\":\"main\",\"state\":\"TASK_STATE_WORKING\",\"ageMs\":5}\n\n"+
			"data: {\"taskId\":\"2\",\"parentId\":\"1\",\"agent\":\"far\",\"state\":\"TASK_STATE_WORKING\",\"ageMs\":5}\n\n")
		if asked.Load() == 3 {
			fmt.Fprint(w, "data: {\"taskId\":\"2\",\"parentId\":\"1\",\"agent\":\"far\",\"state\":\"TASK_STATE_COMPLETED\",\"ageMs\":9}\n\nevent: end\ndata: {}\n\n")
		}
	}))
	defer srv.Close()
	s, out := treeOf(false, false)
	w := &treeWatch{hub: hubFlags{URL: srv.URL, APIKey: "key"}, id: "a/b", show: s, retry: time.Millisecond}
	w.follow(t.Context())
	want := "1\t-\tworking\tmain\t0s\t\n2\t1\tworking\tfar\t0s\t\n2\t1\tcompleted\tfar\t0s\t\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || asked.Load() != 3 {
		t.Errorf("asked %d times, shown (-want +got):\n%s", asked.Load(), diff)
	}
}

func TestAgeName(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 184 * time.Second: "3m04s", 2*time.Hour + 5*time.Minute: "2h05m", 103 * time.Hour: "4d07h",
	} {
		if got := ageName(d); got != want {
			t.Errorf("ageName(%v) = %s, want %s", d, got, want)
		}
	}
}
