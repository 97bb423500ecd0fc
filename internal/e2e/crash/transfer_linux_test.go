package crash

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

const movedConfig = `public_url: http://hub.example
parts: {threshold: 1KiB}
push: {allow: [loopback]}
agents: [{name: a, queue: a}]
`

// moving are the tasks of a hub whose store moves.
type moving struct {
	mu  sync.Mutex // guards the field below
	all []string
	// asking wait for their caller, and queued for a worker.
	asking, queued []string
}

// send sends a message and returns the id of its task.
func (m *moving) send(t *testing.T, h *smallHub, agent string, s sending) string {
	t.Helper()
	var answer frame
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/" + agent + "/message:send", Body: s.body()}, &answer); err != nil {
		t.Error(err)
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, answer.Task.ID)
	return answer.Task.ID
}

// fill makes n tasks, of which open wait: half of them for their caller, half for a worker. The
// first that waits for a worker has a webhook.
func (m *moving) fill(t *testing.T, h *smallHub, n, open int, hook string) {
	t.Helper()
	for i := range open {
		if i%2 == 0 {
			m.asking = append(m.asking, m.send(t, h, "interview", sending{id: fmt.Sprint("i", i), text: "ask 1", waits: true}))
			continue
		}
		s := sending{id: fmt.Sprint("q", i), text: fmt.Sprint("queued ", i)}
		if i == 1 {
			s.hook = hook
		}
		m.queued = append(m.queued, m.send(t, h, "a", s))
	}
	raw := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a large part ", 1000)))
	var answer frame
	body := fmt.Sprintf(`{"message":{"messageId":"p","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"%s"}]}}`, raw)
	if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/echo/message:send", Body: body}, &answer); err != nil {
		t.Fatal(err)
	}
	m.all = append(m.all, answer.Task.ID)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n-open-1; i += 8 {
				m.send(t, h, "echo", sending{id: fmt.Sprint("e", i), text: fmt.Sprint("hello ", i), waits: true})
			}
		})
	}
	wg.Wait()
}

// bodies returns all tasks as JSON-RPC shows them.
func (m *moving) bodies(t *testing.T, h *smallHub) map[string]string {
	t.Helper()
	found := make(map[string]string, len(m.all))
	for _, id := range m.all {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"%s"}}`, id)
		code, text := h.do("/", body, "A2A-Version", "1.0")
		if code != http.StatusOK || !strings.Contains(text, `"result"`) {
			t.Fatalf("task %s = %d %s", id, code, text)
		}
		found[id] = text
	}
	return found
}

func wantSame(t *testing.T, want, got map[string]string) {
	t.Helper()
	differ := 0
	for id, text := range want {
		if got[id] != text {
			if differ++; differ == 1 {
				t.Errorf("task %s\nwas %s\nis  %s", id, text, got[id])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d tasks differ", differ, len(want))
	}
}

// move exports the store of a stopped hub, and imports it for another one, whose import is killed
// first. It starts that hub.
func move(t *testing.T, from *smallHub, source, target []string) *smallHub {
	t.Helper()
	dir := t.TempDir()
	file, data := filepath.Join(dir, "x.export"), filepath.Join(dir, "data")
	began := time.Now()
	out, err := from.Parley(t.Context(), append([]string{"export", file, "--data", from.Data()}, source...)...)
	if err != nil {
		t.Fatalf("export: %v\n%s", err, out)
	}
	took := time.Since(began)
	key, err := os.ReadFile(filepath.Join(from.Data(), "secret.key"))
	if err == nil {
		err = os.Mkdir(data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "secret.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"import", file, "--data", data}, target...)
	done := !killed(t, exec.Command(hubtest.Binary(t), args...))
	began = time.Now()
	if out, err := from.Parley(t.Context(), args...); err != nil && !strings.Contains(err.Error(), "the store has data") || err == nil && done {
		t.Fatalf("import after a kill: %v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s exported in %v, imported in %v, %d bytes", strings.TrimSpace(out), took, time.Since(began), info.Size())
	h := &smallHub{t, hubtest.New(t, hubtest.Options{Config: movedConfig, Data: data, Flags: target})}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestStoreMoves moves the store of a hub from SQLite to PostgreSQL and back. Each task is
// byte-identical over JSON-RPC. The open tasks continue: those that wait for their caller, and
// those that wait for a worker, with their webhooks. PARLEY_MOVE is the number of tasks.
func TestStoreMoves(t *testing.T) {
	n := number(t, "PARLEY_MOVE", 200)
	ended := make(chan struct{}, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if text, err := io.ReadAll(r.Body); err == nil && strings.Contains(string(text), "COMPLETED") {
			select {
			case ended <- struct{}{}:
			default:
			}
		}
	}))
	defer hook.Close()
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: movedConfig})}
	m := new(moving)
	m.fill(t, h, n, max(n/100, 8), hook.URL)
	before := m.bodies(t, h)
	refused := filepath.Join(t.TempDir(), "x")
	if out, err := h.Parley(t.Context(), "export", refused, "--data", h.Data()); err == nil || !strings.Contains(err.Error(), "stop it first, or use --running") {
		t.Errorf("export of a running hub: %v\n%s", err, out)
	}
	if out, err := h.Parley(t.Context(), "export", refused, "--data", h.Data(), "--running"); err != nil {
		t.Errorf("export of a running hub with --running: %v\n%s", err, out)
	}
	h.Stop()

	database := []string{"--store", pgtest.Start(t).Database(t)}
	pg := move(t, h, nil, database)
	wantSame(t, before, m.bodies(t, pg))
	m.finish(t, pg)
	<-ended
	before = m.bodies(t, pg)
	pg.wantPart(m.all[len(m.queued)+len(m.asking)])
	pg.Stop()

	back := move(t, pg, database, nil)
	wantSame(t, before, m.bodies(t, back))
	back.wantPart(m.all[len(m.queued)+len(m.asking)])
	if out, err := back.Parley(t.Context(), "doctor", "--data", back.Data(), "--offline"); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// finish ends the open tasks: with the answers of their caller, and with a worker.
func (m *moving) finish(t *testing.T, h *smallHub) {
	t.Helper()
	worker := hubtest.Launch(t, hubtest.Command{Args: []string{"agent", "run", "--name", "a", "--data", h.Data(), "--concurrency", "8", "--", "cat"}, Dir: h.Dir()})
	if err := worker.Await(t.Context(), "performing the tasks of an agent"); err != nil {
		t.Fatal(err)
	}
	for i, id := range m.asking {
		s := sending{task: id, id: fmt.Sprint("answer", i), text: "blue", waits: true}
		var answer frame
		if err := hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/interview/message:send", Body: s.body()}, &answer); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range append(m.queued, m.asking...) {
		// The stream of an open task ends with it.
		_, _ = h.read("/v1/a2a/tasks/" + id + ":subscribe")
		if _, body := h.read("/v1/a2a/tasks/" + id); !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Fatalf("task %s has not ended after the move: %s", id, body)
		}
	}
}
