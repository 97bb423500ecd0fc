package crash

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestFullDiskOfTheAuditLog fills the disk of the audit log alone. The hub refuses operations
// that it cannot log, and works again by itself when there is space.
func TestFullDiskOfTheAuditLog(t *testing.T) {
	disk := hubtest.Disk(t, "1m")
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: "audit: {dir: " + filepath.Join(disk, "log") + "}"})}
	trust := func(who string) (int, string) {
		return h.do("/api/v1/trust", `{"agentId":"`+who+`","level":"learn"}`)
	}
	if code, body := trust("before"); code != http.StatusOK {
		t.Fatalf("trust = %d %s", code, body)
	}
	ballast := filepath.Join(disk, "ballast")
	for size := 1 << 20; size >= 1<<9; size /= 2 { // until a line does not fit
		f, err := os.OpenFile(ballast, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(make([]byte, size)) // fails at the end, as intended
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	full := func(what string, code int, body string) {
		t.Helper()
		if code != http.StatusServiceUnavailable || !strings.Contains(body, "the hub cannot write its audit log now: the disk is full") {
			t.Errorf("%s on a full disk = %d %s, want 503 that says so", what, code, body)
		}
	}
	// The rest of the log's last block has space for a few lines.
	for range 20 {
		if code, _ := trust("filler"); code != http.StatusOK {
			break
		}
	}
	code, body := trust("during")
	full("trust", code, body)
	code, body = h.ask("during")
	full("send", code, body)
	if _, list := h.read("/api/v1/trust"); strings.Contains(list, "during") || !strings.Contains(list, "before") {
		t.Errorf("a refused change was made: %s", list)
	}
	if code, body := h.read("/v1/a2a/tasks"); code != http.StatusOK || strings.Contains(body, `"during"`) {
		t.Errorf("list on a full disk = %d %s, want no task", code, body)
	}
	if code, body := h.read("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "audit") {
		t.Errorf("readyz = %d %s, want 503 that names the audit log", code, body)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if code, body := trust("after"); code != http.StatusOK {
		t.Errorf("trust with room again = %d %s", code, body)
	}
	if code, body := h.ask("after"); code != http.StatusOK {
		t.Errorf("send with room again = %d %s", code, body)
	}
	h.Stop()
	rep := verifyAudit(t, filepath.Join(disk, "log"))
	if len(rep.Notes) == 0 || !strings.Contains(rep.Notes[0].Text, "could not be written") {
		t.Errorf("the log does not report the lost entries: %v", rep.Notes)
	}
}
