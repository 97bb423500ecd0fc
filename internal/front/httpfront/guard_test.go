package httpfront

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestGuard(t *testing.T) {
	t.Parallel()
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
		err := guard(r)
		if (err == nil) != tt.want {
			t.Errorf("guard(host %q, origin %q) = %v, want ok %t", tt.host, tt.origin, err, tt.want)
		}
		if err != nil && !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("guard(host %q, origin %q) = %v, want ErrUnauthorized", tt.host, tt.origin, err)
		}
	}
}
