package httpfront_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/sse"
)

// visitor is a surface at /guest whose answer its request body selects.
type visitor struct{}

func (visitor) Methods(path string) string {
	if path == "/guest" {
		return "GET, POST"
	}
	return ""
}

func (visitor) Serve(v *surface.Request) error {
	switch string(v.Body) {
	case `"stream"`:
		send, err := v.Stream()
		if err != nil {
			return err
		}
		_ = send(surface.AppendEvent(nil, []byte(`"one"`)))
		return send(sse.Comment)
	case `"secret"`:
		return errors.New("the password is tiger")
	case `"wrong"`:
		return apierror.Field(a2a.ErrInvalidParams, "body", "is wrong")
	case `"panic"`:
		panic("oh")
	}
	v.Reply(http.StatusOK, []byte(`"`+v.Caller.Principal.ID+` `+v.Key+`"`))
	return nil
}

func (visitor) AppendError(dst []byte, r *dialect.Report) []byte {
	return append(append(dst, "guest: "+r.Message+" "...), r.Meta["reference"]...)
}

func surfaceHub(t *testing.T, cfg httpfront.Config) *hub {
	t.Helper()
	cfg.Surfaces = []surface.Surface{visitor{}}
	return startHub(t, cfg, newAgent("echo", echo()))
}

// TestSurfaces checks that a surface shares the front's guard, authentication and limits, and has
// its own shape of errors.
func TestSurfaces(t *testing.T) {
	t.Parallel()
	logs := new(logbook)
	h := surfaceHub(t, httpfront.Config{Auth: byKey(), Loopback: true, Logger: logs.logger(), Limits: limits.Limits{Body: 20}})
	const key = "Authorization: Bearer ann"
	for _, tt := range []struct {
		method, body string
		headers      []string
		code         int
		want         string
	}{
		{"POST", `"hi"`, []string{key}, 200, `"ann "`},
		{"GET", ``, []string{key}, 200, `"ann "`},
		{"POST", `"hi"`, nil, 401, "guest: "},
		{"DELETE", ``, []string{key}, 405, "guest: method DELETE is not allowed here; allowed: GET, POST"},
		{"POST", `"hi"`, []string{key, "Origin: https://evil.example"}, 403, "guest: "},
		{"POST", `"hi"`, []string{key, "Content-Type: text/plain"}, 415, "guest: "},
		{"POST", `"` + strings.Repeat("a", 30) + `"`, []string{key}, 413, "guest: "},
		{"POST", `"wrong"`, []string{key}, 400, "guest: body: is wrong"},
		{"POST", `"secret"`, []string{key}, 500, "guest: internal error"},
		{"POST", `"panic"`, []string{key}, 500, "guest: internal error"},
		{"POST", `"stream"`, []string{key}, 200, "data: \"one\"\n\n: keep-alive\n"},
	} {
		if a := h.do(tt.method, "/guest", tt.body, tt.headers...); a.code != tt.code || !strings.HasPrefix(a.body, tt.want) {
			t.Errorf("%s %s with %v: %d %q, want %d %q", tt.method, tt.body, tt.headers, a.code, a.body, tt.code, tt.want)
		}
	}
	if !strings.Contains(logs.String(), "tiger") {
		t.Error("the operator does not see what callers must not")
	}
	if a := h.do("GET", "/guests", "", key); a.code != http.StatusNotFound {
		t.Errorf("beside the guest: %d", a.code)
	}
}

func TestSurfaceWithoutStreams(t *testing.T) {
	t.Parallel()
	h := surfaceHub(t, httpfront.Config{NoStreaming: true})
	if a := h.do("POST", "/guest", `"stream"`); a.code != http.StatusBadRequest || a.body != "guest: streaming is disabled here " {
		t.Errorf("a stream: %d %q", a.code, a.body)
	}
}

// TestSurfaceLimits checks that requests to a surface count against the limits of the caller, and
// carry its idempotency key.
func TestSurfaceLimits(t *testing.T) {
	t.Parallel()
	e := startEngineWith(t, engine.Config{Limits: limits.Limits{RequestsPerSecond: 0.001, Burst: 2}, Idempotency: engine.Idempotency{Header: true}}, newAgent("echo", echo()))
	h := surfaceHub(t, httpfront.Config{Engine: e})
	if a := h.do("POST", "/guest", `"hi"`, "Idempotency-Key: k"); a.body != `"local k"` {
		t.Errorf("first: %d %q", a.code, a.body)
	}
	h.do("POST", "/guest", `"hi"`)
	resp := h.open(t.Context(), "POST", "/guest", `"hi"`)
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || !strings.HasPrefix(string(b), "guest: ") {
		t.Errorf("third: %d %v %q", resp.StatusCode, resp.Header, b)
	}
}
