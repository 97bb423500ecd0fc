package grpcbind_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
)

// TestAuthenticatorsThatFail checks that a call is refused unless the authenticator returns a
// caller.
func TestAuthenticatorsThatFail(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]auth.Func{
		"error": func(context.Context, *auth.Request) (*auth.Principal, error) {
			return nil, errors.New("the store is gone")
		},
		"unknown": func(context.Context, *auth.Request) (*auth.Principal, error) { return nil, nil },
		"no id": func(context.Context, *auth.Request) (*auth.Principal, error) {
			return &auth.Principal{Roles: []string{"admin"}}, nil
		},
		"panic": func(context.Context, *auth.Request) (*auth.Principal, error) { panic("x") },
	} {
		h := start(t, grpcbind.Config{Auth: f}, words, nil)
		if _, err := h.client.SendMessage(t.Context(), textRequest("x")); status.Code(err) != codes.Internal {
			t.Errorf("%s: %v, want INTERNAL", name, err)
		}
	}
}

// TestOwnersOfACaller checks that metadata selects the organisation of a request.
func TestOwnersOfACaller(t *testing.T) {
	t.Parallel()
	k, err := auth.ConfiguredKey("ann-0123456789abcdef", auth.Principal{ID: "ann", Org: "acme", Orgs: []string{"acme", "beta"}})
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, grpcbind.Config{Auth: &auth.Keyring{Configured: []auth.Key{*k}}}, words, nil)
	for owner, want := range map[string]codes.Code{"": codes.OK, "beta": codes.OK, "gamma": codes.PermissionDenied} {
		kv := []string{"x-api-key", "ann-0123456789abcdef"}
		if owner != "" {
			kv = append(kv, "x-parley-owner", owner)
		}
		if _, err := h.client.SendMessage(with(t.Context(), kv...), textRequest("x")); status.Code(err) != want {
			t.Errorf("for %q: %v, want %v", owner, err, want)
		}
	}
}
