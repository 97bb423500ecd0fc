package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
)

func workerKey(t *testing.T, agent string) (*auth.Key, string) {
	t.Helper()
	k, text := auth.NewKey(auth.Principal{ID: "bus:" + agent, Roles: []string{auth.RoleBus + agent}}, time.Now())
	if err := k.Principal.Check(); err != nil {
		t.Fatal(err)
	}
	return k, text
}

func with(text string) *auth.Request {
	h := http.Header{}
	if text != "" {
		h.Set(auth.HeaderKey, text)
	}
	return &auth.Request{Header: h.Values, RemoteAddr: "127.0.0.1:5000"}
}

// A key for workers authenticates no callers, and does not turn a keyring on.
func TestKeyForWorkers(t *testing.T) {
	t.Parallel()
	k, text := workerKey(t, "Poet")
	caller, callers := auth.NewKey(auth.Principal{ID: "ann"}, time.Now())
	for name, ring := range map[string]*auth.Keyring{
		"alone":             {Configured: []auth.Key{*k}},
		"anonymous callers": {Configured: []auth.Key{*k, *caller}, AllowAnonymous: true},
		"beside another":    {Configured: []auth.Key{*k, *caller}},
	} {
		if on := name != "alone"; ring.On() != on {
			t.Errorf("%s: callers are asked for keys: %v", name, ring.On())
		}
		if p, err := ring.Authenticate(t.Context(), with(text)); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: as a caller it is %v, %v", name, p, err)
		}
		p, err := ring.Authenticate(t.Context(), with(""))
		if anyone := name != "beside another"; (err == nil) != anyone || anyone && !p.Anonymous() {
			t.Errorf("%s: a caller without a key is %v, %v", name, p, err)
		}
		got, err := ring.Worker(t.Context(), text, "192.0.2.1:1")
		if agent, ok := got.BusAgent(); agent != "Poet" || !ok || err != nil {
			t.Errorf("%s: at the bus it is one of %q, %v, %v", name, agent, ok, err)
		}
		for _, wrong := range []string{callers, text + "x", "", strings.Repeat("x", 2000)} {
			if k, err := ring.Worker(t.Context(), wrong, "192.0.2.1:1"); !errors.Is(err, auth.ErrUnauthenticated) || k.ID != "" {
				t.Errorf("%s: at the bus %.10q is %q, %v", name, wrong, k.ID, err)
			}
		}
	}
}

func TestEndOfKeyForWorkers(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: new(memoryKeys)}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	k, text := workerKey(t, "Poet")
	if err := ring.Add(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if ring.On() {
		t.Error("callers are asked for keys")
	}
	if _, err := ring.Worker(t.Context(), text, ""); err != nil {
		t.Error(err)
	}
	if _, err := ring.Revoke(t.Context(), k.ID, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Worker(t.Context(), text, ""); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a revoked key is %v", err)
	}
	if ring.On() {
		t.Error("callers are asked for keys")
	}
}

func TestRoleOfWorkers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p    auth.Principal
		want string
	}{
		"fine":       {auth.Principal{Roles: []string{"bus:Paper_Finder-2.x"}}, ""},
		"with admin": {auth.Principal{Roles: []string{"admin", "bus:a"}}, "cannot have another role"},
		"two":        {auth.Principal{Roles: []string{"bus:a", "bus:b"}}, "cannot have another role"},
		"owner":      {auth.Principal{Org: "acme", Roles: []string{"bus:a"}}, "cannot have an owner"},
		"nobody":     {auth.Principal{Roles: []string{"bus:"}}, "must name an agent"},
		"all":        {auth.Principal{Roles: []string{"bus:*"}}, "must name an agent"},
		"rest":       {auth.Principal{Roles: []string{"bus:a.>"}}, "must name an agent"},
		"space":      {auth.Principal{Roles: []string{"bus:a b"}}, "must name an agent"},
		"long":       {auth.Principal{Roles: []string{"bus:" + strings.Repeat("a", 171)}}, "over 170 bytes"},
	} {
		tt.p.ID = "x"
		err := tt.p.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// memoryKeys is an always empty KeyStore.
type memoryKeys struct{}

func (*memoryKeys) Keys(context.Context) ([]auth.Key, error) { return nil, nil }
func (*memoryKeys) PutKey(context.Context, *auth.Key) error  { return nil }
