package httpfront_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// TestMetricsReaders checks who may read /metrics, with keys and without.
func TestMetricsReaders(t *testing.T) {
	t.Parallel()
	const adminKey, plainKey = "key-of-the-admin-0123456789", "key-of-the-other-0123456789"
	adminOf, err := auth.ConfiguredKey(adminKey, auth.Principal{ID: "boss", Roles: []string{auth.RoleAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := auth.ConfiguredKey(plainKey, auth.Principal{ID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	keyed := &auth.Keyring{Configured: []auth.Key{*adminOf, *other}}
	if err := keyed.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := auth.Anyone()
	const here, there = "127.0.0.1:9", "192.0.2.7:9"
	for _, tt := range []struct {
		name    string
		auth    auth.Authenticator
		readers httpfront.Readers
		from    string
		host    string
		header  string
		want    int
	}{
		{"this machine", keyed, httpfront.Local, here, "localhost", "", 200},
		{"this machine, no keys", open, httpfront.Local, here, "127.0.0.1:4100", "", 200},
		{"through a proxy", keyed, httpfront.Local, here, "localhost", "X-Forwarded-For: 192.0.2.7", 401},
		{"through another proxy", keyed, httpfront.Local, here, "localhost", "Via: 1.1 x", 401},
		{"a page in a browser", keyed, httpfront.Local, here, "localhost", "Origin: http://localhost:3000", 401},
		{"a picture in a page of another site", keyed, httpfront.Local, here, "localhost", "Sec-Fetch-Site: cross-site", 401},
		{"typed into a browser", keyed, httpfront.Local, here, "localhost", "Sec-Fetch-Site: none", 200},
		{"another host's name", keyed, httpfront.Local, here, "hub.example", "", 401},
		{"elsewhere", keyed, httpfront.Local, there, "localhost", "", 401},
		{"elsewhere, no keys", open, httpfront.Local, there, "localhost", "", 403},
		{"an admin elsewhere", keyed, httpfront.Local, there, "hub.example", "Authorization: Bearer " + adminKey, 200},
		{"a caller elsewhere", keyed, httpfront.Local, there, "hub.example", "Authorization: Bearer " + plainKey, 403},
		{"admins alone", keyed, httpfront.Admins, here, "localhost", "", 401},
		{"admins alone, no keys", open, httpfront.Admins, here, "localhost", "", 403},
		{"an admin", keyed, httpfront.Admins, there, "hub.example", "X-Api-Key: " + adminKey, 200},
		{"a wrong key", keyed, httpfront.Admins, there, "hub.example", "X-Api-Key: wrong-0123456789abc", 401},
		{"anyone", keyed, httpfront.Anyone, there, "hub.example", "", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := httpfront.New(httpfront.Config{
				Engine: startEngine(t), Auth: tt.auth, MetricsReaders: tt.readers,
				Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "numbers") }),
			})
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.RemoteAddr, r.Host = tt.from, tt.host
			if name, value, ok := strings.Cut(tt.header, ": "); ok {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != tt.want || (w.Body.String() == "numbers") != (tt.want == 200) {
				t.Errorf("GET /metrics = %d %s, want %d", w.Code, w.Body, tt.want)
			}
		})
	}
}

func TestMetricsAreNotThere(t *testing.T) {
	t.Parallel()
	f := httpfront.New(httpfront.Config{Engine: startEngine(t), Auth: auth.Anyone()})
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 404 {
		t.Errorf("GET /metrics without metrics = %d, want 404", w.Code)
	}
	f = httpfront.New(httpfront.Config{Engine: startEngine(t), Auth: auth.Anyone(), Metrics: http.NotFoundHandler()})
	w = httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest("POST", "/metrics", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /metrics = %d, Allow %q, want 405 and GET, HEAD", w.Code, w.Header().Get("Allow"))
	}
}
