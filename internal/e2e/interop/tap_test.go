package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// tap is a proxy before a server that records the ids of tasks in its answers.
type tap struct {
	url string

	mu    sync.Mutex // guards the field below
	tasks []string   // in order, without consecutive repetitions
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := new(tap)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			r.Body = &tapped{ReadCloser: r.Body, tap: p}
			return nil
		},
		ErrorLog:     log.New(io.Discard, "", 0), // streams that the hub closes
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	s := httptest.NewServer(duplex(proxy))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// duplex lets a proxy read a request while it answers. Otherwise net/http closes the body of the request with
// the beginning of the answer, and if the proxy has not read its end yet, it breaks off both.
func duplex(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1.1 has it
		h.ServeHTTP(w, r)
	})
}

// forget clears the recorded ids.
func (p *tap) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = nil
}

// heard returns the tasks that were mentioned since.
func (p *tap) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tasks...)
}

// record notes the task in a line of an answer.
func (p *tap) record(line []byte) {
	var v any
	if json.Unmarshal(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")), &v) != nil {
		return
	}
	id := taskIn(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "" && (len(p.tasks) == 0 || p.tasks[len(p.tasks)-1] != id) {
		p.tasks = append(p.tasks, id)
	}
}

// taskIn returns the id of the task in an answer of any dialect.
func taskIn(v any) string {
	m := object(v)
	if id, ok := m["id"].(string); ok && m["status"] != nil {
		return id
	}
	if id, ok := m["taskId"].(string); ok && (m["status"] != nil || m["state"] != nil || m["artifact"] != nil) {
		return id
	}
	for _, name := range []string{"result", "task", "statusUpdate", "artifactUpdate"} {
		if inner := m[name]; inner != nil {
			return taskIn(inner)
		}
	}
	return ""
}

// tapped is a body whose lines a tap records.
type tapped struct {
	io.ReadCloser
	tap  *tap
	line []byte
}

func (b *tapped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line = append(b.line, p[:n]...)
	for {
		line, rest, found := bytes.Cut(b.line, []byte("\n"))
		if !found {
			break
		}
		b.tap.record(line)
		b.line = rest
	}
	if err != nil {
		b.tap.record(b.line)
		b.line = nil
	}
	return n, err
}

func TestTaskIn(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"a","status":{}}}}`:                   "a",
		`{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"b","status":{}}}`:              "b",
		`{"id":"1","result":{"statusUpdate":{"taskId":"c","status":{}}}}`:                       "c",
		`{"id":"1","result":{"kind":"artifact-update","taskId":"d","artifact":{}}}`:             "d",
		`{"taskId":"e","contextId":"x","state":"Completed"}`:                                    "e",
		`{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT"}}}`: "",
		`{"jsonrpc":"2.0","id":"1","error":{"code":-32001,"message":"no"}}`:                     "",
	} {
		var v any
		if err := json.NewDecoder(strings.NewReader(answer)).Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got := taskIn(v); got != want {
			t.Errorf("task in %s is %q, want %q", answer, got, want)
		}
	}
}
