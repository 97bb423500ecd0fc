package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

func TestThisMachine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		addr string
		ok   bool
	}{
		{"127.0.0.1:5000", true},
		{"127.8.9.10:5000", true},
		{"[::1]:5000", true},
		{"[::ffff:127.0.0.1]:5000", true},
		{"@", true}, // a Unix socket
		{"pipe", true},
		{"192.0.2.1:5000", false},
		{"[2001:db8::1]:5000", false},
		{"[::ffff:192.0.2.1]:5000", false},
	}
	for _, tt := range tests {
		r := &auth.Request{RemoteAddr: tt.addr}
		p, err := auth.ThisMachine().Authenticate(t.Context(), r)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("caller at %q: %v, %v; want ok %t", tt.addr, p, err, tt.ok)
		}
		if p, err := auth.Anyone().Authenticate(t.Context(), r); err != nil || !p.Anonymous() {
			t.Errorf("caller at %q, all callers admitted: %v, %v", tt.addr, p, err)
		}
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	got := []task.Owner{
		(&auth.Principal{ID: "ann"}).Owner(),
		(&auth.Principal{ID: "ann", Org: "acme"}).Owner(),
		(&auth.Principal{ID: "bob", Org: "acme"}).Owner(),
		(&auth.Principal{ID: auth.Local}).Owner(),
		(&auth.Principal{ID: "ann", Org: auth.Local}).Owner(),
		(&auth.Principal{ID: "org:acme"}).Owner(),
		(&auth.Principal{ID: "id:org:acme"}).Owner(),
	}
	if diff := cmp.Diff([]task.Owner{"ann", "org:acme", "org:acme", "local", "local", "id:org:acme", "id:id:org:acme"}, got); diff != "" {
		t.Errorf("owners mismatch (-want +got):\n%s", diff)
	}
}

func TestPrincipalInContext(t *testing.T) {
	t.Parallel()
	if p := auth.PrincipalFrom(context.Background()); p != nil || !p.Anonymous() {
		t.Errorf("principal of an empty context = %v", p)
	}
	want := &auth.Principal{ID: "ann"}
	if got := auth.PrincipalFrom(auth.WithPrincipal(t.Context(), want)); got != want || got.Anonymous() {
		t.Errorf("principal = %v, want %v", got, want)
	}
}
