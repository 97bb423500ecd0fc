package grpcbind

import (
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/limits"
)

// TestUnknownCallers checks that without an authenticator only this machine is served, unless
// anonymous callers are allowed.
func TestUnknownCallers(t *testing.T) {
	t.Parallel()
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 9} }
	for _, tt := range []struct {
		addr  net.Addr
		local bool
	}{
		{tcp("127.0.0.1"), true},
		{tcp("127.8.9.1"), true},
		{tcp("::1"), true},
		{tcp("::ffff:127.0.0.1"), true},
		{&net.UnixAddr{Name: "/run/parley", Net: "unix"}, true},
		{tcp("10.0.0.1"), false},
		{tcp("2001:db8::1"), false},
	} {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: tt.addr})
		for _, by := range []auth.Authenticator{nil, auth.Anyone()} {
			cfg := Config{Auth: by}.withDefaults(new(limits.Limits))
			c, err := (&service{base: base{cfg: &cfg, version: servesV1}}).identify(ctx)
			if tt.local || by != nil {
				if err != nil || c.Principal.ID != auth.Local {
					t.Errorf("%v (Auth %v): %v, %v; want the local principal", tt.addr, by, c, err)
				}
				continue
			}
			if !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("%v: %v, want %v", tt.addr, err, auth.ErrUnauthenticated)
			}
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	md := metadata.Pairs(
		"a2a-extensions", "urn:a, urn:b", "a2a-extensions", "urn:a,,urn:c ",
		"a2a-version", "1.0", "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "s=1", "x-correlation-id", "c", "x-parent-id", "p",
		"authorization", "Bearer x", "cookie", "y", "x-api-key", "z", "user-agent", "u",
	)
	if diff := cmp.Diff([]string{"urn:a", "urn:b", "urn:c"}, extensions(md)); diff != "" {
		t.Errorf("extensions mismatch (-want +got):\n%s", diff)
	}
	want := map[string][]string{
		"a2a-extensions": {"urn:a, urn:b", "urn:a,,urn:c "}, "a2a-version": {"1.0"},
		"traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "tracestate": {"s=1"}, "x-correlation-id": {"c"}, "x-parent-id": {"p"},
	}
	if diff := cmp.Diff(want, serviceParams(md)); diff != "" {
		t.Errorf("parameters mismatch (-want +got):\n%s", diff)
	}
	if got := serviceParams(metadata.Pairs("cookie", "y")); got != nil {
		t.Errorf("parameters of a call without any = %v, want nil", got)
	}
}
