package server

import (
	"net"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// TestGuard checks that a hub that only this machine reaches is guarded against web pages.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen    string
		anonymous bool
		want      bool
	}{
		{"127.0.0.1:0", false, true},
		{"[::1]:0", false, true},
		{"127.0.0.1:0", true, false},
		{"0.0.0.0:0", false, false},
		{"0.0.0.0:0", true, false},
	} {
		l, err := net.Listen("tcp", tt.listen)
		if err != nil {
			if strings.HasPrefix(tt.listen, "[") {
				continue // a machine without IPv6
			}
			t.Fatal(err)
		}
		h := &Hub{cfg: &config.Config{AllowAnonymous: tt.anonymous}, listener: l}
		if got := h.guarded(); got != tt.want {
			t.Errorf("at %s, anonymous callers %t: guarded %t", tt.listen, tt.anonymous, got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
