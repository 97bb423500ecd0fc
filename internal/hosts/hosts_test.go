package hosts

import (
	"cmp"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	names := New("https://agents.example:8443/hub", []string{"Other.example", "third.example:81"})
	tests := []struct {
		host, origin string
		want         bool
	}{
		{"localhost", "", true},
		{"LOCALHOST:4100", "", true},
		{"127.0.0.1:4100", "", true},
		{"127.8.9.10", "", true},
		{"[::1]:4100", "", true},
		{"[::1]", "", true},
		{"[::ffff:127.0.0.1]:1", "", true},
		{"localhost:1", "http://localhost:3000", true},
		{"localhost:1", "http://127.0.0.1", true},
		{"localhost:1", "http://[::1]:99", true},
		{"localhost:1", "https://evil.example", false},
		{"localhost:1", "null", false},
		{"localhost:1", "http://localhost.evil.example", false},
		{"localhost:1", "http://%zz", false},
		{"evil.example", "", false},
		{"localhost.evil.example:4100", "", false},
		{"192.168.0.1:4100", "", false},
		{"0.0.0.0:4100", "", false},
		{"127.0.0.1.evil.example", "", false},
		{"", "", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		for _, n := range []*Names{nil, names} {
			err := cmp.Or(n.CheckHost(r.Host), n.CheckOrigin(r))
			if (err == nil) != tt.want {
				t.Errorf("%v: Check(host %q, origin %q) = %v, want ok %t", n, tt.host, tt.origin, err, tt.want)
			}
			if err != nil && !errors.Is(err, a2a.ErrUnauthorized) {
				t.Errorf("%v: Check(host %q, origin %q) = %v, want ErrUnauthorized", n, tt.host, tt.origin, err)
			}
		}
	}
}

// TestNames: configured names pass, with any port and in any case; without names they do not.
func TestNames(t *testing.T) {
	t.Parallel()
	names := New("https://agents.example:8443/hub", []string{"Other.example", "third.example:81"})
	for _, tt := range []struct {
		host, origin string
		want         bool
	}{
		{"agents.example", "", true},
		{"AGENTS.example:8443", "https://agents.example:8443", true},
		{"other.example", "http://other.EXAMPLE", true},
		{"third.example", "", true},
		{"sub.agents.example", "", false},
		{"agents.example.evil", "", false},
		{"agents.example", "https://evil.example", false},
		{"agents.example", "null", false},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if err := cmp.Or(names.CheckHost(r.Host), names.CheckOrigin(r)); (err == nil) != tt.want {
			t.Errorf("Check(host %q, origin %q) = %v, want ok %t", tt.host, tt.origin, err, tt.want)
		}
		if err := (*Names)(nil).CheckHost(r.Host); err == nil {
			t.Errorf("without names Check(host %q, origin %q) passes", tt.host, tt.origin)
		}
	}
}

// TestSameOrigin: a form of the hub's own page is accepted if a proxy has replaced Host.
func TestSameOrigin(t *testing.T) {
	t.Parallel()
	names := New("https://agents.example", []string{"other.example"})
	for _, tt := range []struct {
		origin string
		names  *Names
		want   bool
	}{
		{"http://127.0.0.1:4100", nil, true},
		{"https://agents.example", names, true},
		{"https://other.example", names, true},
		{"http://agents.example", names, false},
		{"https://agents.example:444", names, false},
		{"https://agents.example", nil, false},
		{"https://evil.example", names, false},
	} {
		r := httptest.NewRequest("POST", "http://127.0.0.1:4100/", nil)
		r.Header.Set("Origin", tt.origin)
		if err := tt.names.SameOrigin(r); (err == nil) != tt.want {
			t.Errorf("SameOrigin(%q), names %v: %v, want ok %t", tt.origin, tt.names, err, tt.want)
		}
	}
}
