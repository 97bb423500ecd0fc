package httpfront_test

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// logLines is a writer that passes on each line.
type logLines chan string

func (l logLines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// startLogged serves a hub that logs requests.
func startLogged(t *testing.T, on bool) (*hub, logLines) {
	t.Helper()
	lines := make(logLines, 100)
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/abort" {
			panic(http.ErrAbortHandler)
		}
		if _, ok := w.(http.Flusher); !ok {
			t.Error("the answer has no Flush")
		}
		_, _ = w.Write([]byte("hello"))
	})
	return startHub(t, httpfront.Config{
		Auth: byKey(), API: api, LogRequests: on, Logger: slog.New(slog.NewTextHandler(lines, nil)),
	}, everyone()...), lines
}

// TestRequestsAreLogged checks the record of each kind of request, and that none contains a
// secret, a text or a raw control character.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	h, lines := startLogged(t, true)
	const ann = "Authorization: Bearer ann-SECRET"
	for name, tt := range map[string]struct {
		method, path, body string
		headers            []string
		want               string
	}{
		"call": {
			"POST", "/a2a?key=SECRET", rpc("SendMessage", message("SECRET")),
			[]string{v1, ann},
			`method=POST path=/a2a operation=SendMessage agent=echo caller=ann-\S+ status=200 bytes=\d+ took=\S+`,
		},
		"stream": {
			"POST", "/v1/a2a/message:stream", message("SECRET words"),
			[]string{v1, ann},
			`method=POST path=/v1/a2a/message:stream operation=SendStreamingMessage agent=echo caller=ann-\S+ status=200 bytes=\d{3,} took=\S+`,
		},
		"refused": {"POST", "/v1/a2a/message:send", message("SECRET"), []string{v1}, `method=POST path=/v1/a2a/message:send operation=SendMessage status=401 bytes=\d+ took=\S+ reason=UNAUTHENTICATED`},
		"nowhere": {"GET", "/nowhere%1b%5b2J%0ax?token=SECRET", "", nil, `method=GET path="/nowhere\\x1b\[2J\\nx" status=404 bytes=\d+ took=\S+.*`},
		"long":    {"GET", "/" + strings.Repeat("x", 5000), "", nil, `method=GET path=/x{199}… status=404 bytes=\d+ took=\S+.*`},
		"api":     {"GET", "/api/v1/status?q=SECRET", "", []string{ann}, `method=GET path=/api/v1/status caller=ann-\S+ status=200 bytes=5 took=\S+`},
		"card":    {"GET", "/.well-known/agent-card.json", "", nil, `method=GET path=/.well-known/agent-card.json .*status=200 bytes=\d+ took=\S+`},
	} {
		h.do(tt.method, tt.path, tt.body, tt.headers...)
		got := <-lines
		if !regexp.MustCompile(`^time=\S+ level=INFO msg=request ` + tt.want + "\n$").MatchString(got) {
			t.Errorf("%s: record %q, want %s", name, got, tt.want)
		}
		if got = strings.ReplaceAll(got, "caller=ann-SECRET", ""); strings.Contains(got, "SECRET") {
			t.Errorf("%s: record %q has a secret", name, got)
		}
	}
}

// TestProbesAreNotLogged checks that probes of the health, and all requests without
// Config.LogRequests, leave no record.
func TestProbesAreNotLogged(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		h, lines := startLogged(t, on)
		h.do("GET", "/healthz", "")
		h.do("GET", "/readyz", "")
		if !on {
			h.do("GET", "/nowhere", "")
		}
		h.client.CloseIdleConnections()
		if on {
			h.do("GET", "/last", "")
			if got := <-lines; !strings.Contains(got, "path=/last ") {
				t.Errorf("a probe is logged: %s", got)
			}
		} else if len(lines) > 0 {
			t.Errorf("without LogRequests: %s", <-lines)
		}
	}
}

// TestAbortedRequestsAreLogged checks that a request whose connection is cut is logged, too.
func TestAbortedRequestsAreLogged(t *testing.T) {
	t.Parallel()
	h, lines := startLogged(t, true)
	r, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/api/v1/abort", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ann")
	if resp, err := h.client.Do(r); err == nil {
		resp.Body.Close()
		t.Fatalf("answer %s, want a cut connection", resp.Status)
	}
	if got := <-lines; !strings.Contains(got, "path=/api/v1/abort caller=ann status=0 ") {
		t.Errorf("record %q", got)
	}
}
