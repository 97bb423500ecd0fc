package peeraddr_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7:80":            "192.0.2.7/32",
		"192.0.2.7":               "192.0.2.7/32",
		"[::ffff:192.0.2.7]:80":   "192.0.2.7/32",
		"[2001:db8::1]:80":        "2001:db8::/64",
		"2001:db8::1":             "2001:db8::/64",
		"[fe80::1%eth0]:80":       "fe80::/64",
		"@":                       "invalid Prefix",
		"":                        "invalid Prefix",
		"example.com:80":          "invalid Prefix",
		"[2001:db8:0:1:2::1]:443": "2001:db8:0:1::/64",
	} {
		if got := peeraddr.Network(addr).String(); got != want {
			t.Errorf("Network(%q) = %s, want %s", addr, got, want)
		}
	}
}

func TestSameNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1:1", "192.0.2.1:2", true},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"192.0.2.1:1", "[::ffff:192.0.2.1]:9", true},
		{"[2001:db8::1]:1", "[2001:db8::ffff]:1", true},
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		{"@", "pipe", true},
		{"@", "0.0.0.0:1", false},
	} {
		if same := peeraddr.Network(tt.a) == peeraddr.Network(tt.b); same != tt.same {
			t.Errorf("%s and %s are one network: %t", tt.a, tt.b, same)
		}
	}
}
