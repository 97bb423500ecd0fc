package httpfront_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// whoami answers with the caller and the body.
var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s", r.Method, auth.PrincipalFrom(r.Context()).ID, b)
})

// TestMCP checks that another handler serves MCP, with the caller that the front has
// identified.
func TestMCP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg          httpfront.Config
		method, from string
		host, want   string
		code         int
	}{
		"post":      {httpfront.Config{MCP: whoami}, "POST", "127.0.0.1:1", "localhost", "POST local {}", 200},
		"delete":    {httpfront.Config{MCP: whoami}, "DELETE", "127.0.0.1:1", "localhost", "DELETE local {}", 200},
		"put":       {httpfront.Config{MCP: whoami}, "PUT", "127.0.0.1:1", "localhost", "not allowed", 405},
		"not there": {httpfront.Config{}, "POST", "127.0.0.1:1", "localhost", "nothing is served", 404},
		"rebinding": {httpfront.Config{MCP: whoami}, "POST", "127.0.0.1:1", "evil.example", "not a loopback", 403},
		"elsewhere": {httpfront.Config{MCP: whoami}, "POST", "192.0.2.1:1", "localhost", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Engine = startEngine(t)
			r := httptest.NewRequest(tt.method, "/mcp", strings.NewReader("{}"))
			r.RemoteAddr, r.Host = tt.from, tt.host
			w := httptest.NewRecorder()
			httpfront.New(tt.cfg).ServeHTTP(w, r)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s /mcp = %d %s, want %d %s", tt.method, w.Code, w.Body, tt.code, tt.want)
			}
		})
	}
}

// TestInside checks that the caller of a request from inside is the principal in its context,
// whatever its headers contain.
func TestInside(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: noStore{}}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, bob := newKey(t, ring, auth.Principal{ID: "bob"})
	f := httpfront.New(httpfront.Config{Engine: startEngine(t), Auth: ring, API: whoami, Loopback: true})
	ask := func(h http.Handler, p *auth.Principal) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/api/v1/x", nil)
		r.Header.Set("Authorization", "Bearer "+bob)
		if p != nil {
			r = r.WithContext(auth.WithPrincipal(r.Context(), p))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	ann := &auth.Principal{ID: "ann"}
	if w := ask(f.Inside(), ann); w.Code != 200 || w.Body.String() != "GET ann " {
		t.Errorf("from inside = %d %s", w.Code, w.Body)
	}
	if w := ask(f.Inside(), nil); w.Code != 401 {
		t.Errorf("from inside, for nobody = %d %s", w.Code, w.Body)
	}
	// The context of a request from outside does not count; its key does, whatever its Host.
	if w := ask(f, ann); w.Code != 200 || w.Body.String() != "GET bob " {
		t.Errorf("from outside = %d %s, want bob", w.Code, w.Body)
	}
}
