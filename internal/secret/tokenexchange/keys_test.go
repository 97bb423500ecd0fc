package tokenexchange_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
)

const (
	hubA = "https://hub-a.example"
	hubB = "https://hub-b.example"
)

var alice = &auth.Principal{ID: "alice", Org: "acme", Roles: []string{"ops"}}

func load(t testing.TB, path string) *tokenexchange.Keys {
	t.Helper()
	k, err := tokenexchange.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func keyID(t testing.TB, k *tokenexchange.Keys) string {
	t.Helper()
	key, err := k.Key()
	if err != nil {
		t.Fatal(err)
	}
	return key.ID()
}

// published returns the number of published keys.
func published(t testing.TB, k *tokenexchange.Keys) int {
	t.Helper()
	set, err := k.Set()
	if err != nil || strings.Contains(string(set), `"d"`) {
		t.Fatalf("Set = %s, %v", set, err)
	}
	return strings.Count(string(set), `"kid"`)
}

// site serves the key set of a hub.
type site struct{ keys *tokenexchange.Keys }

func (s site) RoundTrip(*http.Request) (*http.Response, error) {
	set, err := s.keys.Set()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(set)))}, nil
}

// TestRotation simulates a year with a message every six hours, restarts, and a verifier that
// caches keys: no assertion is refused, and the keys change.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), tokenexchange.FileName)
		keys := load(t, path)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("file = %v, %v, want it for the user alone", info, err)
		}
		a := &token.Asserter{Issuer: hubA, Key: func() (*token.Key, error) { return keys.Key() }}
		i := &token.Issuer{Name: "a", URL: hubA, Audiences: []string{hubB}, KeysURL: hubA + "/.well-known/jwks.json"}
		if err := i.Check(); err != nil {
			t.Fatal(err)
		}
		var at *site
		v := &token.Verifier{Issuers: []*token.Issuer{i}, Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return at.RoundTrip(r)
		})}}
		used := make(map[string]bool)
		for n := range 4 * 365 {
			if n%150 == 149 {
				keys = load(t, path)
			}
			at = &site{keys}
			text, err := a.Of(alice, hubB, nil)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Minute) // the assertion is on its way
			synctest.Wait()
			if _, err := v.Token(t.Context(), text); err != nil {
				t.Fatalf("message %d: %v", n, err)
			}
			used[keyID(t, keys)] = true
			if got := published(t, keys); got > 2 {
				t.Fatalf("message %d: %d keys are published", n, got)
			}
			time.Sleep(356 * time.Minute)
			synctest.Wait()
		}
		if len(used) != 5 {
			t.Errorf("%d keys in a year, want one for each 90 days", len(used))
		}
	})
}

// TestRotationUnderLoad sends from four callers around the creation, activation and removal of
// a key; no assertion is refused.
func TestRotationUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := load(t, filepath.Join(t.TempDir(), tokenexchange.FileName))
		a := &token.Asserter{Issuer: hubA, Key: keys.Key}
		i := &token.Issuer{Name: "a", URL: hubA, Audiences: []string{hubB}, KeysURL: hubA + "/.well-known/jwks.json"}
		v := &token.Verifier{Issuers: []*token.Issuer{i}, Client: &http.Client{Transport: transport(site{keys}.RoundTrip)}}
		used := new(sync.Map)
		time.Sleep(tokenexchange.Period - 25*time.Hour)
		synctest.Wait()
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(n) * 7 * time.Second)
				for range 300 { // two days and a half
					text, err := a.Of(alice, hubB, nil)
					if err != nil {
						t.Error(err)
						return
					}
					used.Store(keyID(t, keys), true)
					time.Sleep(time.Minute)
					if _, err := v.Token(t.Context(), text); err != nil {
						t.Errorf("refused: %v", err)
					}
					time.Sleep(11 * time.Minute)
				}
			})
		}
		wg.Wait()
		n := 0
		for range used.Range {
			n++
		}
		if n != 2 || published(t, keys) != 1 {
			t.Errorf("%d keys were used, and %d are published, want two and one", n, published(t, keys))
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNextKeyIsKnownBefore checks that a verifier that caches a key set for a day never needs a
// key that is not in it.
func TestNextKeyIsKnownBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := load(t, filepath.Join(t.TempDir(), tokenexchange.FileName))
		first := keyID(t, keys)
		time.Sleep(tokenexchange.Period + 200*24*time.Hour) // no calls for a long time
		synctest.Wait()
		if n := published(t, keys); n != 2 || keyID(t, keys) != first {
			t.Errorf("after the time of the key: %d keys, and the old one signs: %t", n, keyID(t, keys) == first)
		}
		time.Sleep(24*time.Hour + time.Second)
		synctest.Wait()
		if n := published(t, keys); n != 2 || keyID(t, keys) == first {
			t.Errorf("a day later: %d keys, and the old one signs: %t", n, keyID(t, keys) == first)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := published(t, keys); n != 1 {
			t.Errorf("two days later: %d keys", n)
		}
	})
}

// TestKeysWithoutDisk checks that the hub can sign while its disk is full.
func TestKeysWithoutDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		keys := load(t, filepath.Join(dir, tokenexchange.FileName))
		first := keyID(t, keys)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(tokenexchange.Period)
		synctest.Wait()
		if keyID(t, keys) != first || published(t, keys) != 1 {
			t.Error("a key was used that is not on the disk")
		}
		time.Sleep(tokenexchange.Period)
		synctest.Wait()
		if _, err := keys.Key(); err == nil {
			t.Error("a key signs for ever")
		}
	})
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open":  {`{"keys":[]}`, 0o644, "chmod 600"},
		"empty": {`{"keys":[]}`, 0o600, "no keys"},
		"bad":   {`{"keys":[{"key":"AAAA"}]}`, 0o600, "key 0 is not a private key"},
		"half":  {`{"keys":[{"ke`, 0o600, "unexpected end"},
		"large": {strings.Repeat(" ", 20<<10), 0o600, "too large"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := tokenexchange.Load(path); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load(%s) = %v, want %q", name, err, tc.want)
		}
	}
}

// TestPolicy checks the header for each mode and caller.
func TestPolicy(t *testing.T) {
	t.Parallel()
	keys := load(t, filepath.Join(t.TempDir(), tokenexchange.FileName))
	asserter := &token.Asserter{Issuer: hubA, Key: keys.Key}
	known, nobody := auth.WithPrincipal(t.Context(), alice), auth.WithPrincipal(t.Context(), &auth.Principal{ID: auth.Local})
	own := withBearer(known, "own-token")
	for name, tc := range map[string]struct {
		policy tokenexchange.Policy
		ctx    context.Context
		want   string // the beginning of "header: value"
		err    error
	}{
		"nothing by default":             {tokenexchange.Policy{}, own, "", nil},
		"none":                           {tokenexchange.Policy{Mode: tokenexchange.None}, own, "", nil},
		"an assertion":                   {tokenexchange.Policy{Mode: tokenexchange.Assertion, Audience: hubB}, own, "Authorization: Bearer eyJ", nil},
		"in a header of its own":         {tokenexchange.Policy{Mode: tokenexchange.Assertion, Audience: hubB, Name: "x-caller"}, known, "X-Caller: eyJ", nil},
		"of nobody":                      {tokenexchange.Policy{Mode: tokenexchange.Assertion, Audience: hubB}, nobody, "", auth.ErrNoIdentity},
		"of no caller at all":            {tokenexchange.Policy{Mode: tokenexchange.Assertion, Audience: hubB}, t.Context(), "", auth.ErrNoIdentity},
		"of nobody who has a name there": {tokenexchange.Policy{Mode: tokenexchange.Assertion, Audience: hubB, Anonymous: "guest"}, nobody, "Authorization: Bearer eyJ", nil},
		"the caller's own":               {tokenexchange.Policy{Mode: tokenexchange.Forward}, own, "Authorization: Bearer own-token", nil},
		"the caller's own, gone":         {tokenexchange.Policy{Mode: tokenexchange.Forward}, known, "", errAny},
	} {
		tc.policy.Asserter = asserter
		h, err := tc.policy.Header(tc.ctx)
		got := ""
		for n, v := range h {
			got += n + ": " + strings.Join(v, "|")
		}
		if !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		if tc.err == nil && err != nil || tc.err != nil && (err == nil || tc.err != errAny && !errors.Is(err, tc.err)) {
			t.Errorf("%s: error %v, want %v", name, err, tc.err)
		}
	}
}

var errAny = errors.New("any")
