package crash

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestFullDiskOfParts fills the disk of large parts alone, with real bytes. The hub refuses a
// message with a large part in the dialect of its caller and leaves no files behind. Everything
// else continues to work, and large parts work again by themselves when there is space.
func TestFullDiskOfParts(t *testing.T) {
	disk := hubtest.Disk(t, "2m")
	dir := filepath.Join(disk, "parts")
	h := &smallHub{t, hubtest.Start(t, hubtest.Options{Config: "parts: {threshold: 10KiB, dir: " + dir + "}"})}
	content := strings.Repeat("0123456789", 40<<10)
	raw := base64.StdEncoding.EncodeToString([]byte(content))
	const v1 = `{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"%s"}]}}`
	file := func(id string) (int, string) { return h.do("/v1/a2a/echo/message:send", fmt.Sprintf(v1, id, raw)) }
	place := func(body string) string {
		t.Helper()
		_, tail, ok := strings.Cut(body, h.URL()+"/v1/parts/")
		tail, _, _ = strings.Cut(tail, `"`)
		if !ok {
			t.Fatalf("no address of a part in %.300s", body)
		}
		return "/v1/parts/" + tail
	}
	code, body := file("first")
	if code != http.StatusOK {
		t.Fatalf("send = %d %s", code, body)
	}
	first, before := place(body), below(t, dir)

	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1500<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	rpc := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	}
	const v03 = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"file","file":{"bytes":"%s"}}]}}`
	const why = "[1]: the hub cannot store this part now: the disk is full"
	for name, tt := range map[string]struct {
		path, body string
		header     []string
		code       int
		want       []string
	}{
		"v1.0 HTTP+JSON":        {"/v1/a2a/echo/message:send", fmt.Sprintf(v1, "m", raw), nil, 503, []string{`"code":503`, why}},
		"v1.0 HTTP+JSON stream": {"/v1/a2a/echo/message:stream", fmt.Sprintf(v1, "m", raw), nil, 503, []string{why}},
		"v1.0 JSON-RPC":         {"/a2a/echo", rpc("SendMessage", fmt.Sprintf(v1, "m", raw)), []string{"A2A-Version", "1.0"}, 0, []string{`"error"`, `"code":-32603`, why}},
		"v1.0 JSON-RPC stream":  {"/a2a/echo", rpc("SendStreamingMessage", fmt.Sprintf(v1, "m", raw)), []string{"A2A-Version", "1.0"}, 0, []string{`"error"`, why}},
		"v0.3 JSON-RPC":         {"/a2a/echo", rpc("message/send", fmt.Sprintf(v03, raw)), nil, 0, []string{`"error"`, why}},
		"v0.3 HTTP+JSON":        {"/a2a/echo/v1/message:send", fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"},{"file":{"fileWithBytes":%q}}]}}`, raw), nil, 503, []string{why}},
		"derived":               {"/a2a/echo", rpc("message/send", fmt.Sprintf(`{"message":{"messageId":"m","role":"user","parts":[{"text":"hi"},{"raw":%q}]}}`, raw)), nil, 0, []string{`"error"`, why}},
		"chat completions": {"/v1/chat/completions", fmt.Sprintf(`{"model":"echo","messages":[{"role":"user","content":[{"type":"text","text":"hi"},`+
			`{"type":"file","file":{"filename":"x.bin","file_data":"data:application/octet-stream;base64,%s"}}]}]}`, raw), nil, 503, []string{"the disk is full"}},
	} {
		code, body := h.do(tt.path, tt.body, tt.header...)
		if tt.code != 0 && code != tt.code || code == http.StatusInternalServerError || strings.Contains(body, dir) {
			t.Errorf("%s: %d %.300s, want %d", name, code, body, tt.code)
		}
		for _, want := range tt.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %d %.300s, want %q", name, code, body, want)
			}
		}
	}
	if diff := cmp.Diff(before, below(t, dir)); diff != "" {
		t.Errorf("a refused request has left files (-before +after):\n%s", diff)
	}
	if code, body := h.read("/v1/a2a/tasks"); code != http.StatusOK || !strings.Contains(body, `"totalSize":1`) {
		t.Errorf("list on a full disk = %d %.300s, want the one task", code, body)
	}
	if code, got := h.read(first); code != http.StatusOK || got != content {
		t.Errorf("the part on a full disk = %d, %d bytes", code, len(got))
	}
	if code, body := h.ask("small"); code != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("a message without parts = %d %s", code, body)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	content = strings.Repeat("9876543210", 40<<10)
	raw = base64.StdEncoding.EncodeToString([]byte(content))
	code, body = file("after")
	if code != http.StatusOK {
		t.Fatalf("send with room again = %d %s", code, body)
	}
	if code, got := h.read(place(body)); code != http.StatusOK || got != content {
		t.Errorf("the part with room again = %d, %d bytes", code, len(got))
	}
}

// below returns the files and folders below a folder, except for the lock.
func below(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, strings.TrimPrefix(path, dir))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
