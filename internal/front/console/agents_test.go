package console_test

import (
	"go/format"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestChangeAgents changes agents as an administrator, and as a caller without a role.
func TestChangeAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	boss, ann := w.as(rootKey), w.as(annsKey)
	if page := ann.get("/console/agents").body; strings.Contains(page, `value="pause"`) || strings.Contains(page, "Add an agent") {
		t.Error("the page of a caller has buttons for changes")
	}
	wants(t, boss.get("/console/none"), 404, "no page at this address", "/console/audit")
	boss.get("/console/agents")
	if a := boss.post("/console/agents", "agent", "echo", "verb", "pause", "reason", "new model"); a.code != 200 || !strings.Contains(a.body, "echo is paused") || !strings.Contains(a.body, `value="resume"`) {
		t.Errorf("pause = %d %s", a.code, a.body)
	}
	if a := boss.post("/console/agents", "agent", "echo", "verb", "resume"); a.code != 200 || !strings.Contains(a.body, "receives messages again") {
		t.Errorf("resume = %d %s", a.code, a.body)
	}
	if a := boss.post("/console/agents", "agent", "nowhere", "verb", "pause"); a.code != 404 || !strings.Contains(a.body, `role="alert"`) {
		t.Errorf("pause of a missing agent = %d %s", a.code, a.body)
	}
	if a := boss.post("/console/agents", "agent", "echo", "verb", "explode"); a.code != 400 {
		t.Errorf("an unknown change = %d", a.code)
	}
	ann.get("/console/try")
	if a := ann.post("/console/agents", "agent", "echo", "verb", "pause"); a.code != 403 {
		t.Errorf("pause by a caller = %d %s", a.code, a.body)
	}
}

// TestPrograms runs the programs that a task can be copied as, against a server that receives the
// message of the task.
func TestPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	p := w.person()
	const text = `it's "quoted" \ and ünï 🙂 $HOME <b>`
	page := p.get("/console/task?id=" + p.send("echo", text)).body
	shown := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?s)<summary>(Python|Go)</summary><pre>(.*?)</pre>`).FindAllStringSubmatch(page, -1) {
		shown[m[1]] = html.UnescapeString(m[2])
	}
	if _, err := format.Source([]byte(shown["Go"])); err != nil || shown["Go"] == "" {
		t.Errorf("the program in Go does not parse: %v\n%s", err, shown["Go"])
	}
	python := testenv.Tool(t, "python3")
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Path + " " + r.Header.Get("A2A-Version")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "send.py")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(shown["Python"], w.url, srv.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, file).CombinedOutput(); err != nil || got != "/v1/a2a/echo/message:send 1.0" {
		t.Errorf("the program in Python has sent %q, %v\n%s\n%s", got, err, out, shown["Python"])
	}
}
