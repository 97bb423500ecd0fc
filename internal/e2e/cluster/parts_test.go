package cluster

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
)

// sendRaw sends a large part, and returns the path of its address.
func (m *member) sendRaw(raw []byte) (id, path string) {
	m.t.Helper()
	body, err := json.Marshal(map[string]any{"message": map[string]any{
		"messageId": "m", "role": "ROLE_USER",
		"parts": []any{map[string]any{"raw": base64.StdEncoding.EncodeToString(raw), "mediaType": "a/b", "filename": "f.bin"}, map[string]string{"text": "x"}},
	}})
	if err != nil {
		m.t.Fatal(err)
	}
	var got struct {
		Task struct {
			ID      string
			History []struct{ Parts []struct{ URL string } }
		}
	}
	m.call(hubtest.Request{URL: "/v1/a2a/echo/message:send", Body: string(body)}, &got)
	if len(got.Task.History) == 0 || len(got.Task.History[0].Parts) == 0 {
		m.t.Fatalf("task = %+v, want an address in its history", got)
	}
	_, path, _ = strings.Cut(got.Task.History[0].Parts[0].URL, "/v1/parts/")
	return got.Task.ID, "/v1/parts/" + path
}

// part returns the status and the bytes of a part.
func (m *member) part(path string, header ...string) (int, []byte) {
	m.t.Helper()
	resp, err := hubtest.Do(m.t.Context(), hubtest.Request{Method: http.MethodGet, URL: m.URL() + path, Header: header})
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = append(b, " and then "+err.Error()...)
	}
	return resp.StatusCode, b
}

// A large part that one hub has received is read at the other one, also after the first has gone and
// after an export and import. A damaged chunk ends the answer, and /readyz reports it.
func TestParts(t *testing.T) {
	t.Parallel()
	url, hubs := begin(t, "a", "b")
	a, b := hubs[0], hubs[1]
	raw := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // three chunks
	_, path := a.sendRaw(raw)
	for _, m := range hubs {
		if code, got := m.part(path); code != http.StatusOK || !bytes.Equal(got, raw) {
			t.Errorf("hub %s: %d with %d bytes, want 200 with %d", m.id, code, len(got), len(raw))
		}
		if code, got := m.part(path, "Range", "bytes=262140-262150"); code != http.StatusPartialContent || string(got) != "cdef0123456" {
			t.Errorf("hub %s: range = %d %q", m.id, code, got)
		}
	}
	if _, again := b.sendRaw(raw); again == path {
		t.Errorf("the parts of two tasks have the same address %s", path)
	}
	a.Kill()
	if code, got := b.part(path); code != http.StatusOK || !bytes.Equal(got, raw) {
		t.Errorf("after the hub that received it was killed: %d with %d bytes", code, len(got))
	}
	if out, err := b.Parley(t.Context(), "doctor", "--offline", "--config", filepath.Join(b.Dir(), "parley.yaml"), "--data", b.Data()); err != nil || !strings.Contains(out, "1 large parts match their digests") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "hub.export")
	if out, err := b.Parley(t.Context(), "export", file, "--running", "--store", url, "--data", t.TempDir()); err != nil {
		t.Fatalf("export: %v\n%s", err, out)
	}
	moved := pgtest.Shared(t).Database(t)
	if out, err := b.Parley(t.Context(), "import", file, "--store", moved, "--data", t.TempDir()); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	if code, got := join(t, moved, "c").part(path); code != http.StatusOK || !bytes.Equal(got, raw) {
		t.Errorf("after an import: %d with %d bytes", code, len(got))
	}
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	pgtest.Shared(t).Exec(t, name, "UPDATE parley.part_chunks SET data = set_byte(data, 5, 0) WHERE n = 1")
	if _, got := b.part(path); !strings.Contains(string(got), " and then ") || len(got) > 1<<18+100 {
		t.Errorf("a damaged part has %d bytes, ending with %q; want the first chunk and an error", len(got), got[len(got)-60:])
	}
	doctor := []string{"doctor", "--offline", "--config", filepath.Join(b.Dir(), "parley.yaml"), "--data", b.Data()}
	if out, err := b.Parley(t.Context(), doctor...); err == nil || !strings.Contains(out, "chunk 1 is damaged") || !strings.Contains(out, "hubs use the database") {
		t.Errorf("doctor with a damaged chunk: %v\n%s", err, out)
	}
	resp, err := hubtest.Do(t.Context(), hubtest.Request{Method: http.MethodGet, URL: b.URL() + "/readyz"})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if report, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(report), `"name":"data"`) {
		t.Errorf("/readyz = %s, %v, want the check data", report, err)
	}
}
