package auth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
)

// Every request is authenticated, so that must not allocate.
func TestAuthenticateDoesNotAllocate(t *testing.T) {
	k, text := auth.NewKey(auth.Principal{ID: "ann"}, time.Now())
	request := func(name, value string) *auth.Request {
		h := http.Header{name: {value}}
		return &auth.Request{Header: h.Values, RemoteAddr: "127.0.0.1:5000"}
	}
	for name, tt := range map[string]struct {
		ring *auth.Keyring
		r    *auth.Request
	}{
		"key":    {&auth.Keyring{Configured: []auth.Key{*k}}, request("X-Api-Key", text)},
		"bearer": {&auth.Keyring{Configured: []auth.Key{*k}}, request("Authorization", "Bearer "+text)},
		"off":    {&auth.Keyring{}, request("Accept", "*/*")},
	} {
		n := testing.AllocsPerRun(100, func() {
			if _, err := tt.ring.Authenticate(t.Context(), tt.r); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
