package parley_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestPageTokensAfterARestart checks that page tokens are valid after a restart with the same
// store and key, and invalid without the key.
func TestPageTokensAfterARestart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after string
		want          int
	}{
		"with the key":    {"key", "key", http.StatusOK},
		"without a key":   {"", "", http.StatusBadRequest},
		"with another":    {"key", "other", http.StatusBadRequest},
		"with a late key": {"", "key", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, store := t.TempDir(), new(memstore.Store)
			in := func(name string) string {
				if name == "" {
					return ""
				}
				return filepath.Join(dir, name)
			}
			s := serve(t, withBuiltin(&parley.Hub{Store: store, KeyFile: in(tt.before)}))
			for range 3 {
				s.send("/v1/a2a/message:send", "", "hello", "")
			}
			var page struct{ NextPageToken string }
			code, body := s.call(http.MethodGet, "/v1/a2a/tasks?pageSize=1", "", "")
			if err := json.Unmarshal([]byte(body), &page); code != http.StatusOK || err != nil || page.NextPageToken == "" {
				t.Fatalf("first page = %d %s, %v", code, body, err)
			}
			s.stop()
			s = serve(t, withBuiltin(&parley.Hub{Store: store, KeyFile: in(tt.after)}))
			code, body = s.call(http.MethodGet, "/v1/a2a/tasks?pageSize=1&pageToken="+url.QueryEscape(page.NextPageToken), "", "")
			if code != tt.want {
				t.Errorf("second page = %d %s, want %d", code, body, tt.want)
			}
		})
	}
}
