package crash

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// writers send messages with a large part to a hub until the test ends, and keep the ids of the
// tasks that the hub has confirmed.
type writers struct {
	mu  sync.Mutex // guards the field below
	ids []string
}

func (w *writers) known() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.ids...)
}

// write sends messages until stop is closed. Refusals of a hub that was killed are no errors.
func (w *writers) write(t *testing.T, h *smallHub, name string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		raw := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fmt.Sprintln(name, i), 300)))
		body := fmt.Sprintf(`{"message":{"messageId":"%s-%d","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"%s"}]}}`, name, i, raw)
		var answer frame
		if hubtest.Call(t.Context(), hubtest.Request{URL: h.URL() + "/v1/a2a/message:send", Body: body}, &answer) == nil {
			w.mu.Lock()
			w.ids = append(w.ids, answer.Task.ID)
			w.mu.Unlock()
		}
	}
}

// TestBackupUnderLoad backs up a hub while callers send messages with large parts. Every second
// backup is killed, and now and then the hub. A killed backup leaves no file of its name. Each
// complete one has all tasks that callers knew when it began, also if its restoring was killed.
func TestBackupUnderLoad(t *testing.T) {
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: "parts: {threshold: 1KiB}"})}
	w, stop := new(writers), make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { w.write(t, h, fmt.Sprint("w", i), stop) })
	}
	defer wg.Wait()
	defer close(stop)
	h.sent(20)
	dir := t.TempDir()
	for i := range max(2, number(t, "PARLEY_KILLS", 20)/10) {
		file := filepath.Join(dir, fmt.Sprintf("b%d.tar", i))
		killed(t, exec.Command(hubtest.Binary(t), "backup", file, "--data", h.Data()))
		if _, err := os.Stat(file); err == nil { // it was complete before the kill
			wantRestored(t, file, nil)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 1 {
			h.Kill()
		}
		before := w.known()
		if out, err := h.Parley(t.Context(), "backup", file, "--data", h.Data()); err != nil {
			t.Fatalf("backup: %v\n%s", err, out)
		}
		wantRestored(t, file, before)
		t.Logf("backup %d has %d tasks", i, len(before))
		if i%2 == 1 {
			if err := h.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.part*")); err != nil || len(left) > 0 {
		t.Errorf("backups have left %v, %v", left, err)
	}
}

// killed starts a program and kills it at a random moment. It reports whether that was in time.
func killed(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-time.After(rand.N(150 * time.Millisecond))
	_ = cmd.Process.Kill() // it may have ended
	return cmd.Wait() != nil
}

// wantRestored kills the restoring of a backup, restores it, and starts a hub with the folder. It
// must have the tasks, and each with its part.
func wantRestored(t *testing.T, file string, ids []string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	h := &smallHub{t, hubtest.New(t, hubtest.Options{Data: data, Config: "parts: {threshold: 1KiB}"})}
	if killed(t, exec.Command(hubtest.Binary(t), "restore", file, "--data", data)) {
		if _, err := os.Stat(filepath.Join(data, ".restoring")); err == nil {
			if err := h.Start(); err == nil || !strings.Contains(err.Error(), "run parley restore again") {
				t.Errorf("hub with half of a folder: %v", err)
			}
		}
		if out, err := h.Parley(t.Context(), "restore", file, "--data", data); err != nil && !strings.Contains(err.Error(), "has data (") {
			t.Fatalf("restore: %v\n%s", err, out)
		}
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	if gone := h.missing(ids); len(gone) > 0 {
		t.Errorf("the backup has %d of %d tasks that callers knew when it began", len(ids)-len(gone), len(ids))
	}
	for i := 0; i < len(ids); i += 10 {
		h.wantPart(ids[i])
	}
	if out, err := h.Parley(t.Context(), "doctor", "--data", data, "--offline"); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// wantPart reads the part of a task.
func (h *smallHub) wantPart(id string) {
	h.t.Helper()
	_, body := h.read("/v1/a2a/tasks/" + id)
	_, url, found := strings.Cut(body, `"url":"`)
	url, _, _ = strings.Cut(url, `"`)
	at := strings.Index(url, "/v1/parts/")
	if !found || at < 0 {
		h.t.Errorf("task %s has no part: %s", id, body)
		return
	}
	if code, _ := h.read(url[at:]); code != http.StatusOK {
		h.t.Errorf("part of task %s = %d", id, code)
	}
}
