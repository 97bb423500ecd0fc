package server

import (
	"errors"
	"net"
	"slices"
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
		h := &Hub{given: given{cfg: &config.Config{AllowAnonymous: tt.anonymous}}, network: network{listener: l}}
		if got := h.guarded(); got != tt.want {
			t.Errorf("at %s, anonymous callers %t: guarded %t", tt.listen, tt.anonymous, got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCloseReleasesInReverse checks that Close releases all resources, the last one first, and
// returns all errors.
func TestCloseReleasesInReverse(t *testing.T) {
	t.Parallel()
	var h Hub
	var released []string
	first, last := errors.New("first"), errors.New("last")
	h.opened(func() error { released = append(released, "first"); return first })
	h.opened(func() error { released = append(released, "last"); return last })
	if err := h.Close(); !errors.Is(err, first) || !errors.Is(err, last) || !slices.Equal(released, []string{"last", "first"}) {
		t.Errorf("Close = %v, released %v", err, released)
	}
}
