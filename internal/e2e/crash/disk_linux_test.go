package crash

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// smallHub is a hub on a small disk.
type smallHub struct {
	t *testing.T
	*hubtest.Hub
}

// do sends a request to a path and returns status and body.
func (h *smallHub) do(path, body string, header ...string) (int, string) {
	h.t.Helper()
	resp, err := hubtest.Do(h.t.Context(), hubtest.Request{URL: h.URL() + path, Body: body, Header: header})
	if err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
	return whole(h.t, resp)
}

// ask sends a message.
func (h *smallHub) ask(text string) (int, string) {
	h.t.Helper()
	return h.do("/v1/a2a/message:send", sending{id: "m", text: text, waits: true}.body())
}

func (h *smallHub) read(path string) (int, string) {
	h.t.Helper()
	return h.do(path, "")
}

// fill sends messages until one is refused, and returns the refusal.
func (h *smallHub) fill() (int, string) {
	h.t.Helper()
	for range 1000 {
		if code, body := h.ask(strings.Repeat("x", 50_000)); code != http.StatusOK {
			return code, body
		}
	}
	h.t.Fatal("1000 messages were accepted on a small disk")
	return 0, ""
}

// TestFullDiskRefusesWritesAndHeals fills the disk of a hub. The hub refuses messages with the
// reason, continues to serve reads, and works again by itself when there is space.
func TestFullDiskRefusesWritesAndHeals(t *testing.T) {
	data := hubtest.Disk(t, "12m")
	ballast := filepath.Join(data, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Data: data})}
	if code, body := h.ask("first"); code != http.StatusOK {
		t.Fatalf("send = %d %s", code, body)
	}
	code, body := h.fill()
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "disk is full") {
		t.Errorf("refusal = %d %s, want 503 that says that the disk is full", code, body)
	}
	if code, body := h.read("/v1/a2a/tasks?pageSize=100"); code != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("list on a full disk = %d %s, want the tasks there are", code, body)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "disk is full") {
		t.Errorf("readyz = %d %s, want 503 that names the store", code, body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for code := 0; code != http.StatusOK; code, _ = h.read("/readyz") {
		if pause(ctx, nil) != nil {
			t.Fatal("not ready a minute after there was room")
		}
	}
	if code, body := h.ask("again"); code != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("send after there was room = %d %s", code, body)
	}
}
