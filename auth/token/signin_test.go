package token

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// TestSignIn checks that an ID token is a credential for its sign-in alone, and gives the rights
// that other tokens of the issuer give.
func TestSignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		v := p.verifier(func(i *Issuer) {
			i.RolesClaim, i.Roles = "groups", map[string]string{"operators": "admin"}
			i.Scopes, i.RequiredScopes = map[string]string{"run": "runner"}, []string{"a2a"}
		})
		begun := SignIn{Issuer: "corp", Client: "console", Nonce: "n-1", Scopes: []string{"openid", "a2a", "run"}}
		claims := func(changes object) object {
			c := good(object{"aud": "console", "iat": time.Now().Unix(), "nonce": "n-1", "groups": []string{"operators"}, "name": "Ada"})
			for k, x := range changes {
				if c[k] = x; x == nil {
					delete(c, k)
				}
			}
			return c
		}
		text := p.token(t, claims(nil))
		got, err := v.Token(WithSignIn(t.Context(), &begun), text)
		if err != nil {
			t.Fatal(err)
		}
		want := &auth.Principal{
			ID: "corp:ada", DisplayName: "Ada", Roles: []string{"admin", "runner"}, Via: ViaSignIn, Until: got.Until,
			Claims: map[string]string{"iss": issuerURL, "sub": "ada", "name": "Ada", "scope": "openid a2a run"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("principal (-want +got):\n%s", diff)
		}
		if expiry, err := v.SignIn(t.Context(), text, &begun); err != nil || !expiry.Equal(time.Now().Add(time.Minute).Truncate(time.Second)) {
			t.Errorf("SignIn = %v, %v", expiry, err)
		}
		if _, err := v.Token(t.Context(), text); !errors.Is(err, ErrToken) {
			t.Errorf("outside of its sign-in the token gives %v", err)
		}
		access := p.token(t, claims(object{"aud": audience, "scope": "a2a"}))
		if _, err := v.Token(t.Context(), access); err != nil {
			t.Errorf("a token for the hub gives %v", err)
		}
		if _, err := v.Token(WithSignIn(t.Context(), &begun), access); !errors.Is(err, ErrToken) {
			t.Errorf("a token for the hub as an ID token gives %v", err)
		}
		for name, changes := range map[string]object{
			"another nonce": {"nonce": "n-2"}, "no nonce": {"nonce": nil}, "a nonce that is no text": {"nonce": 1}, "no audience": {"aud": nil},
			"another client": {"aud": "other"}, "several clients": {"aud": []string{"console", "other"}}, "for another party": {"azp": "other"},
			"several, for another": {"aud": []string{"console", "other"}, "azp": "other"}, "a party that is no text": {"azp": 7},
			"expired": {"exp": time.Now().Add(-2 * time.Minute).Unix()}, "no expiry": {"exp": nil}, "no time": {"iat": nil},
			"of the future": {"iat": time.Now().Add(2 * time.Minute).Unix()}, "another issuer": {"iss": "https://other.example"}, "no subject": {"sub": nil},
		} {
			if _, err := v.SignIn(t.Context(), p.token(t, claims(changes)), &begun); !errors.Is(err, ErrToken) {
				t.Errorf("%s: %v", name, err)
			}
		}
		without := SignIn{Issuer: "corp", Client: "console", Nonce: "n-1", Scopes: []string{"openid"}}
		if _, err := v.SignIn(t.Context(), text, &without); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("without the scope: %v, want a2a.ErrUnauthorized", err)
		}
		for name, s := range map[string]SignIn{
			"another name": {Issuer: "other", Client: "console", Nonce: "n-1", Scopes: begun.Scopes}, "no client": {Issuer: "corp", Nonce: "n-1", Scopes: begun.Scopes},
			"no nonce": {Issuer: "corp", Client: "console", Scopes: begun.Scopes},
		} {
			if _, err := v.SignIn(t.Context(), text, &s); !errors.Is(err, ErrToken) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := v.SignIn(t.Context(), p.token(t, claims(object{"aud": []string{"console", "other"}, "azp": "console"})), &begun); err != nil {
			t.Errorf("several clients, for this one: %v", err)
		}
		forged := sign(t, jose.HS256, []byte("0123456789abcdef0123456789abcdef"), claims(nil), "JWT")
		if _, err := v.SignIn(t.Context(), forged, &begun); !errors.Is(err, ErrToken) {
			t.Errorf("with HMAC: %v", err)
		}
		time.Sleep(time.Minute + defaultSkew + time.Second)
		synctest.Wait()
		if _, err := v.Token(WithSignIn(t.Context(), &begun), text); !errors.Is(err, ErrToken) {
			t.Errorf("after its expiry: %v", err)
		}
	})
}

// TestSignInIsNotForwarded checks that an ID token is not passed on as the caller's own token.
func TestSignInIsNotForwarded(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	begun := &SignIn{Issuer: "corp", Client: "console", Nonce: "n-1"}
	text := p.token(t, good(object{"aud": "console", "iat": time.Now().Unix(), "nonce": "n-1"}))
	k := &auth.Keyring{Tokens: p.verifier(nil)}
	if err := k.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	slot := new(usertoken.Slot)
	ctx := WithSignIn(usertoken.Collect(t.Context(), slot), begun)
	r := &auth.Request{Header: func(name string) []string {
		if name == "Authorization" {
			return []string{"Bearer " + text}
		}
		return nil
	}, RemoteAddr: "127.0.0.1:1"}
	if got, err := k.Authenticate(ctx, r); err != nil || got.ID != "corp:ada" {
		t.Fatalf("Authenticate = %v, %v", got, err)
	}
	if slot.Token() != (usertoken.Token{}) {
		t.Error("the ID token is passed on")
	}
}
