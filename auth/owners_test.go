package auth_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// A request is made for the organisation that it selects among those of its caller, or for the
// first one, and never for another one.
func TestOwnersOfACaller(t *testing.T) {
	t.Parallel()
	key := func(text string, p auth.Principal) auth.Key {
		k, err := auth.ConfiguredKey(text, p)
		if err != nil {
			t.Fatal(err)
		}
		return *k
	}
	const both, one, none = "both-0123456789abcdef", "one-0123456789abcdef", "none-0123456789abcdef"
	ring := &auth.Keyring{AllowAnonymous: true, Configured: []auth.Key{
		key(both, auth.Principal{ID: "ann", Org: "acme", Orgs: []string{"acme", "beta"}}),
		key(one, auth.Principal{ID: "bob", Org: "acme"}),
		key(none, auth.Principal{ID: "carl"}),
	}}
	for _, tt := range []struct {
		name, key string
		owners    []string
		want      task.Owner
		err       error
	}{
		{"none named", both, nil, "org:acme", nil},
		{"the first", both, []string{"acme"}, "org:acme", nil},
		{"the second", both, []string{" beta "}, "org:beta", nil},
		{"another", both, []string{"gamma"}, "", a2a.ErrUnauthorized},
		{"empty", both, []string{""}, "", a2a.ErrUnauthorized},
		{"of two, the same twice", both, []string{"beta", "beta"}, "", a2a.ErrInvalidRequest},
		{"a list", both, []string{"acme, beta"}, "", a2a.ErrUnauthorized},
		{"case counts", both, []string{"Beta"}, "", a2a.ErrUnauthorized},
		{"local", both, []string{"local"}, "", a2a.ErrUnauthorized},
		{"the owner as tasks have it", both, []string{"org:beta"}, "", a2a.ErrUnauthorized},
		{"of one", one, []string{"acme"}, "org:acme", nil},
		{"of one, another", one, []string{"beta"}, "", a2a.ErrUnauthorized},
		{"of none", none, []string{"acme"}, "", a2a.ErrUnauthorized},
		{"of none, itself", none, []string{"carl"}, "", a2a.ErrUnauthorized},
		{"anonymous", "", []string{"acme"}, "", a2a.ErrUnauthorized},
		{"anonymous, none named", "", nil, "local", nil},
	} {
		h := http.Header{}
		if tt.key != "" {
			h.Set("X-Api-Key", tt.key)
		}
		for _, o := range tt.owners {
			h.Add(auth.HeaderOwner, o)
		}
		p, err := ring.Authenticate(t.Context(), &auth.Request{Header: h.Values, RemoteAddr: "192.0.2.1:5"})
		if !errors.Is(err, tt.err) || tt.err != nil && p != nil {
			t.Errorf("%s: %v, %v, want %v", tt.name, p, err, tt.err)
			continue
		}
		if err == nil && p.Owner() != tt.want {
			t.Errorf("%s: owner %q, want %q", tt.name, p.Owner(), tt.want)
		}
	}
	if got := ring.List()[0].Principal.Org; got != "acme" {
		t.Errorf("the key's own owner has become %q", got)
	}
}

func TestCheckOwners(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]auth.Principal{
		"another than those": {ID: "a", Org: "x", Orgs: []string{"y"}},
		"none chosen":        {ID: "a", Orgs: []string{"y"}},
		"an empty one":       {ID: "a", Org: "", Orgs: []string{""}},
		"a control":          {ID: "a", Org: "x", Orgs: []string{"x", "y\n"}},
	} {
		if err := p.Check(); err == nil {
			t.Errorf("%s: Check accepts %+v", name, p)
		}
	}
}

// Known rejects a principal without an id.
func TestKnown(t *testing.T) {
	t.Parallel()
	for _, p := range []*auth.Principal{nil, {}, {Org: "acme", Roles: []string{"admin"}}} {
		if auth.Known(p) == nil {
			t.Errorf("Known(%+v) = nil", p)
		}
	}
	if err := auth.Known(&auth.Principal{ID: "a"}); err != nil {
		t.Error(err)
	}
}
