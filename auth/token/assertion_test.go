package token

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/auth"
)

const (
	hubA = "https://hub-a.example"
	hubB = "https://hub-b.example"
	hubC = "https://hub-c.example"
)

// party is a hub that asserts the identity of its callers.
type party struct {
	Asserter
	key *Key
}

func newParty(t testing.TB, issuer string) *party {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return &party{Asserter{Issuer: issuer, Key: func() (*Key, error) { return key, nil }}, key}
}

// trusts returns the Verifier of a hub, known as audience, that trusts others: name → party.
func trusts(t testing.TB, audience string, others map[string]*party) *Verifier {
	t.Helper()
	v := &Verifier{}
	for name, p := range others {
		set, err := KeySet(p.key)
		if err != nil {
			t.Fatal(err)
		}
		i := &Issuer{
			Name: name, URL: p.Issuer, Audiences: []string{audience}, Keys: set,
			OrgClaim: "org", Orgs: map[string]string{"acme": "partner-acme"},
			RolesClaim: "roles", Roles: map[string]string{"ops": "operator"},
		}
		if err := i.Check(); err != nil {
			t.Fatal(err)
		}
		v.Issuers = append(v.Issuers, i)
	}
	return v
}

var alice = &auth.Principal{
	ID: "alice", DisplayName: "Alice", Org: "acme", Roles: []string{"ops", "admin"},
	Claims: map[string]string{"email": "alice@acme.example"},
}

func TestAssertion(t *testing.T) {
	t.Parallel()
	a := newParty(t, hubA)
	v := trusts(t, hubB, map[string]*party{"a": a})
	text, err := a.Of(alice, hubB, []string{"org", "roles", "name"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Token(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	want := &auth.Principal{
		ID: "a:alice", DisplayName: "Alice", Org: "partner-acme", Roles: []string{"operator"}, Until: got.Until,
		Claims: map[string]string{"iss": hubA, "sub": "alice", "name": "Alice", "act": `["` + hubA + `"]`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the caller at B (-want +got):\n%s", diff)
	}
	for what, v := range map[string]*Verifier{
		"another audience":            trusts(t, hubC, map[string]*party{"a": a}),
		"the hub that has said it":    {},
		"a hub that knows other keys": trusts(t, hubB, map[string]*party{"a": newParty(t, hubA)}),
	} {
		if p, err := v.Token(t.Context(), text); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %+v, %v", what, p, err)
		}
	}
}

// An assertion is valid for five minutes plus the clock skew; one from a clock that is ahead is
// not valid for longer.
func TestAssertionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newParty(t, hubA)
		v := trusts(t, hubB, map[string]*party{"a": a})
		text, err := a.Of(alice, hubB, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(defaultLife + defaultSkew - time.Second)
		synctest.Wait()
		if _, err := v.Token(t.Context(), text); err != nil {
			t.Errorf("at the end of its time: %v", err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if _, err := v.Token(t.Context(), text); !errors.Is(err, ErrToken) {
			t.Errorf("after its time: %v", err)
		}
	})
}

// Only the selected claims are present, and only if the caller has them.
func TestAssertionHasNamedClaims(t *testing.T) {
	t.Parallel()
	a := newParty(t, hubA)
	ids := make(map[any]bool)
	for want, tc := range map[string]struct {
		p      *auth.Principal
		claims []string
	}{
		"act aud exp iat iss jti sub":                      {alice, nil},
		"act aud exp iat iss jti org roles sub":            {alice, []string{"org", "roles", "scope"}},
		"act aud email exp iat iss jti name sub":           {alice, []string{"email", "name", "azp"}},
		"act aud exp iat iss jti sub, of the owner's keys": {&auth.Principal{ID: "me", Org: auth.Local}, []string{"org"}},
	} {
		text, err := a.Of(tc.p, hubB, tc.claims)
		if err != nil {
			t.Fatal(err)
		}
		members := claimsOf(t, text)
		wantNames, _, _ := strings.Cut(want, ",")
		if diff := cmp.Diff(strings.Fields(wantNames), slices.Sorted(maps.Keys(members))); diff != "" {
			t.Errorf("claims %v (-want +got):\n%s", tc.claims, diff)
		}
		if ids[members["jti"]] {
			t.Errorf("the id %v comes twice", members["jti"])
		}
		ids[members["jti"]] = true
	}
	if err := CheckClaims([]string{"org", "password"}); err == nil || !strings.Contains(err.Error(), `"password"`) {
		t.Errorf("CheckClaims = %v", err)
	}
}

// claimsOf returns the claims of a token.
func claimsOf(t testing.TB, text string) map[string]any {
	t.Helper()
	parsed, err := jwt.ParseSigned(text, allAlgorithms)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := parsed.UnsafeClaimsWithoutVerification(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// There is no assertion for callers without credentials, nor without an audience.
func TestAssertionWithoutPrincipal(t *testing.T) {
	t.Parallel()
	a := newParty(t, hubA)
	for _, p := range []*auth.Principal{nil, {ID: auth.Local}} {
		ctx := auth.WithAsserter(t.Context(), a)
		if p != nil {
			ctx = auth.WithPrincipal(ctx, p)
		}
		if text, err := auth.Assert(ctx, hubB); !errors.Is(err, auth.ErrNoIdentity) || text != "" {
			t.Errorf("Assert for %+v = %q, %v", p, text, err)
		}
	}
	if _, err := auth.Assert(auth.WithPrincipal(t.Context(), alice), hubB); !errors.Is(err, auth.ErrNoAsserter) {
		t.Errorf("Assert without an asserter: %v", err)
	}
	if text, err := a.Of(alice, "", nil); err == nil {
		t.Errorf("an assertion without a principal: %q", text)
	}
	ctx := auth.WithPrincipal(auth.WithAsserter(t.Context(), a), alice)
	if text, err := auth.Assert(ctx, hubB); err != nil || claimsOf(t, text)["aud"] != hubB {
		t.Errorf("Assert = %q, %v", text, err)
	}
}

// For any id of a caller, the id becomes exactly the subject, and two callers never become one.
func TestAssertionCannotBeForged(t *testing.T) {
	t.Parallel()
	a, b := newParty(t, hubA), newParty(t, hubB)
	v := trusts(t, hubC, map[string]*party{"a": a, "b": b})
	ids := rapid.OneOf(
		rapid.SampledFrom([]string{
			`","sub":"root`, `x","roles":["ops"],"y":"`, "hub:a", "a:alice", "b:alice", "a:", ":", "local", "org:acme", "id:alice",
			"alice\x00", "alice\nroles: ops", "\u2028", `\u0022`, "é", strings.Repeat("x", maxSubject), strings.Repeat("x", maxSubject+1),
			"\xff", "", "eyJ.a.b",
		}),
		rapid.String(),
	)
	type who struct{ from, id string }
	seen := make(map[string]who)
	rapid.Check(t, func(t *rapid.T) {
		w := who{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "from"), ids.Draw(t, "id")}
		from := map[string]*party{"a": a, "b": b}[w.from]
		text, err := from.Of(&auth.Principal{ID: w.id}, hubC, []string{"org", "roles"})
		if !goodSubject(w.id) {
			if err == nil {
				t.Fatalf("Of(%q) = %q", w.id, text)
			}
			return
		}
		if err != nil {
			t.Fatalf("Of(%q) = %v", w.id, err)
		}
		p, err := v.Token(context.Background(), text)
		if err != nil {
			t.Fatalf("the assertion about %q: %v", w.id, err)
		}
		want := &auth.Principal{
			ID: w.from + ":" + w.id, Until: p.Until,
			Claims: map[string]string{"iss": from.Issuer, "sub": w.id, "act": `["` + from.Issuer + `"]`},
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Fatalf("the caller of %q (-want +got):\n%s", w.id, diff)
		}
		if first, ok := seen[p.ID]; ok && first != w {
			t.Fatalf("%v and %v are both %q", first, w, p.ID)
		}
		seen[p.ID] = w
	})
	if err := (&Issuer{Name: "a:b", URL: hubA, Audiences: []string{hubC}}).Check(); err == nil {
		t.Error("a colon in the name of an issuer makes two callers one")
	}
}

// A hub that calls on behalf of another hub's caller names the hubs before it.
func TestActors(t *testing.T) {
	t.Parallel()
	a, b := newParty(t, hubA), newParty(t, hubB)
	text, err := a.Of(alice, hubB, nil)
	if err != nil {
		t.Fatal(err)
	}
	atB, err := trusts(t, hubB, map[string]*party{"a": a}).Token(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = b.Of(atB, hubC, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"sub": hubB, "act": map[string]any{"sub": hubA}}
	if diff := cmp.Diff(want, claimsOf(t, text)["act"]); diff != "" {
		t.Errorf("act (-want +got):\n%s", diff)
	}
	atC, err := trusts(t, hubC, map[string]*party{"b": b}).Token(t.Context(), text)
	if err != nil || atC.ID != "b:a:alice" || atC.Claims["act"] != `["`+hubB+`","`+hubA+`"]` {
		t.Errorf("the caller at C = %+v, %v", atC, err)
	}

	var long []string
	for range maxActors {
		long = append(long, hubA)
	}
	list, _ := json.Marshal(long)
	if _, err := b.Of(&auth.Principal{ID: "x", Claims: map[string]string{"act": string(list)}}, hubC, nil); err == nil {
		t.Error("an assertion through more hubs than may be")
	}
	for _, odd := range []any{nil, "x", 1.5, []any{"x"}, map[string]any{}, map[string]any{"sub": 1}, map[string]any{"sub": "a\nb"}} {
		if got := actors(odd); got != "" {
			t.Errorf("actors(%v) = %q", odd, got)
		}
	}
	var deep any
	for range 100 {
		deep = map[string]any{"sub": "x", "act": deep}
	}
	if got := strings.Count(actors(deep), `"x"`); got != maxActors {
		t.Errorf("a chain of 100 is read as one of %d", got)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	der, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseKey(der)
	if err != nil || again.ID() != k.ID() {
		t.Errorf("ParseKey = %v, %v, want %v", again, err, k)
	}
	set, err := KeySet(k)
	if err != nil || strings.Contains(string(set), `"d"`) || !strings.Contains(string(set), k.ID()) || !strings.Contains(string(set), `"use":"sig"`) {
		t.Errorf("KeySet = %s, %v", set, err)
	}
	for _, bad := range [][]byte{nil, []byte("x"), der[:20]} {
		if k, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q) = %v", bad, k)
		}
	}
	if b, err := json.Marshal(k); err != nil || strings.Contains(string(b), "private") || len(b) > 80 {
		t.Errorf("as JSON: %s, %v", b, err)
	}
}
