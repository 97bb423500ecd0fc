package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestKeySetsAreKept checks that a key set is fetched once, and that invalid answers are not
// cached.
func TestKeySetsAreKept(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/keys":
			_, _ = w.Write([]byte(`{"keys":[]}`))
		case "/page":
			_, _ = w.Write([]byte(`<html>`))
		case "/flood":
			_, _ = w.Write([]byte(strings.Repeat(" ", maxKeyFile+1)))
		case "/elsewhere":
			http.Redirect(w, r, "http://192.0.2.1/keys", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	k := &keySets{client: srv.Client()}
	for range 3 {
		if text, err := k.KeySet(t.Context(), srv.URL+"/keys"); err != nil || string(text) != `{"keys":[]}` {
			t.Errorf("KeySet = %q, %v", text, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	for path, want := range map[string]string{
		"/page": "not JSON", "/flood": "too large", "/elsewhere": "", "/nothing": "status 404",
	} {
		if text, err := k.KeySet(t.Context(), srv.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("KeySet(%s) = %q, %v, want %q", path, text, err, want)
		}
	}
}
