package tokenexchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
	"github.com/parley-a2a/parley/internal/usertoken"
)

func withBearer(ctx context.Context, text string) context.Context {
	return usertoken.With(ctx, usertoken.New(text))
}

const secret = "cl1ent/s3cret+&"

// authority is an authorization server that accepts only valid requests of RFC 8693.
type authority struct {
	t     *testing.T
	keys  *tokenexchange.Keys // of the hub whose assertions it accepts
	url   string
	asked atomic.Int32
	begun chan struct{} // if not nil, receives a value for each request
	hold  chan struct{} // if not nil, answers wait for it
	life  int
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := a.asked.Add(1)
	if a.hold != nil {
		a.begun <- struct{}{}
		<-a.hold
	}
	if err := a.check(r); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_request","error_description":%q}`, err.Error()+" "+r.PostForm.Get("subject_token"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"at-%d","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":%d}`, n, a.life)
}

// check returns the first error in a request (RFC 8693 §2.1, RFC 6749 §2.3.1).
func (a *authority) check(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	id, pass, _ := r.BasicAuth()
	pass, err := url.QueryUnescape(pass)
	f := r.PostForm
	switch {
	case r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.URL.RawQuery != "":
		return errors.New("not a form")
	case err != nil || id != "hub-a" || pass != secret:
		return errors.New("another client")
	case f.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange":
		return errors.New("another grant")
	case f.Get("audience") != hubB || f.Get("scope") != "a2a" || f.Has("resource"):
		return errors.New("for something else")
	}
	for name, values := range f {
		if len(values) != 1 {
			return fmt.Errorf("%s comes %d times", name, len(values))
		}
	}
	return a.checkSubject(f.Get("subject_token"), f.Get("subject_token_type"))
}

func (a *authority) checkSubject(text, kind string) error {
	switch kind {
	case "urn:ietf:params:oauth:token-type:access_token":
		if !strings.HasPrefix(text, "own-") {
			return errors.New("not a token of mine")
		}
		return nil
	case "urn:ietf:params:oauth:token-type:jwt":
		set, err := a.keys.Set()
		if err != nil {
			return err
		}
		v := &token.Verifier{Issuers: []*token.Issuer{{Name: "a", URL: hubA, Audiences: []string{a.url}, Keys: set}}}
		_, err = v.Token(context.Background(), text)
		return err
	}
	return errors.New("a subject of another type")
}

// exchange returns a policy whose tokens come from an authority.
func exchange(t *testing.T, h http.Handler) (*tokenexchange.Policy, *authority) {
	t.Helper()
	keys := load(t, filepath.Join(t.TempDir(), tokenexchange.FileName))
	a := &authority{t: t, keys: keys, life: 3600}
	if h == nil {
		h = a
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	a.url = srv.URL + "/token"
	return &tokenexchange.Policy{
		Mode: tokenexchange.Exchange, Asserter: &token.Asserter{Issuer: hubA, Key: keys.Key},
		Exchanger: &tokenexchange.Exchanger{
			TokenURL: a.url, ClientID: "hub-a", ClientSecret: secret, Audience: hubB, Scope: "a2a", Client: srv.Client(),
		},
	}, a
}

func TestExchange(t *testing.T) {
	t.Parallel()
	p, a := exchange(t, nil)
	get := func(ctx context.Context) string {
		t.Helper()
		h, err := p.Header(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return h.Get("Authorization")
	}
	known := auth.WithPrincipal(t.Context(), alice)
	first := get(known)
	if first != "Bearer at-1" || get(known) != first {
		t.Errorf("the first token is %q, the next %q", first, get(known))
	}
	mine := get(withBearer(known, "own-1"))
	others := []string{
		mine, get(withBearer(known, "own-2")),
		get(auth.WithPrincipal(t.Context(), &auth.Principal{ID: "bob", Org: "acme", Roles: []string{"ops"}})),
		get(auth.WithPrincipal(t.Context(), &auth.Principal{ID: "alice", Org: "acme"})), // with fewer roles
	}
	seen := map[string]bool{first: true}
	for _, one := range others {
		if seen[one] {
			t.Errorf("the token %q is of two callers", one)
		}
		seen[one] = true
	}
	if get(withBearer(known, "own-1")) != mine || a.asked.Load() != 5 {
		t.Errorf("the server was asked %d times", a.asked.Load())
	}
	if _, err := p.Header(t.Context()); !errors.Is(err, auth.ErrNoIdentity) {
		t.Errorf("for nobody: %v", err)
	}
	p.Refused(known)
	p.Refused(t.Context())
	if got := get(known); seen[got] {
		t.Errorf("after the agent has refused it, the token is still %q", got)
	}
	if get(withBearer(known, "own-1")) != mine {
		t.Error("the token of another caller was forgotten")
	}
}

// TestExchangeOnce checks that one of many callers for the same token fetches it and all get
// it, even if the fetching caller disconnects.
func TestExchangeOnce(t *testing.T) {
	t.Parallel()
	p, a := exchange(t, nil)
	a.begun, a.hold = make(chan struct{}, 100), make(chan struct{})
	leader, gone := context.WithCancel(auth.WithPrincipal(t.Context(), alice))
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = p.Header(leader) })
	<-a.begun
	gone()
	for range 20 {
		wg.Go(func() {
			h, err := p.Header(auth.WithPrincipal(t.Context(), alice))
			if err != nil || h.Get("Authorization") != "Bearer at-1" {
				t.Errorf("Header = %v, %v", h, err)
			}
		})
	}
	close(a.hold)
	wg.Wait()
	if n := a.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestExchangeRefused tries error responses of the server. Errors name the endpoint and contain
// no secret, temporary errors are distinguished, and no error is cached.
func TestExchangeRefused(t *testing.T) {
	t.Parallel()
	ok := func(change map[string]any) string {
		m := map[string]any{
			"access_token": "at", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "bearer", "expires_in": 60,
		}
		for k, v := range change {
			m[k] = v
		}
		b, _ := json.Marshal(m)
		return string(b)
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
		passes bool
	}{
		"as it should be":         {200, ok(nil), "", false},
		"invalid_grant":           {400, `{"error":"invalid_grant","error_description":"own-secret"}`, "status 400: invalid_grant", false},
		"an error with a secret":  {400, `{"error":"own-secret is \n wrong"}`, "rejected the request with status 400", false},
		"unauthorized":            {401, `own-secret`, "rejected the request with status 401", false},
		"a redirect":              {302, ``, "rejected the request with status 302", false},
		"down":                    {503, `own-secret`, "answered with status 503", true},
		"too many":                {429, ``, "answered with status 429", true},
		"a page":                  {200, `<html>own-secret`, "not JSON", false},
		"no token":                {200, ok(map[string]any{"access_token": ""}), "no access_token", false},
		"a token with a newline":  {200, ok(map[string]any{"access_token": "own-secret\r\nX-Admin: 1"}), "no access_token that can be sent", false},
		"a token of another type": {200, ok(map[string]any{"token_type": "N_A"}), "not Bearer", false},
		"no issued type":          {200, ok(map[string]any{"issued_token_type": ""}), "issued_token_type", false},
		"a refresh token":         {200, ok(map[string]any{"issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"}), "issued_token_type", false},
		"a flood":                 {200, strings.Repeat(" ", 300<<10), "too large", false},
	} {
		var asked atomic.Int32
		p, _ := exchange(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", "http://192.0.2.1/token")
			w.WriteHeader(tc.status)
			_, _ = w.Write([]byte(tc.body))
		}))
		ctx := withBearer(t.Context(), "own-secret")
		_, err := p.Header(ctx)
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), p.Exchanger.TokenURL) {
			t.Errorf("%s: %v, want %q and the endpoint", name, err, tc.want)
			continue
		}
		for _, s := range []string{"own-secret", secret, "s3cret"} {
			if strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v tells %q", name, err, s)
			}
		}
		if errors.Is(err, httpcall.ErrUnreachable) != tc.passes {
			t.Errorf("%s: %v may pass: %t", name, err, !tc.passes)
		}
		if _, err := p.Header(ctx); err == nil || asked.Load() != 2 {
			t.Errorf("%s: the second time %v, after %d requests", name, err, asked.Load())
		}
	}
	p, _ := exchange(t, nil)
	p.Exchanger.TokenURL = "http://127.0.0.1:1/token"
	if _, err := p.Header(withBearer(t.Context(), "own-1")); !errors.Is(err, httpcall.ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
}

// answers is an authority without a network.
type answers func() (status int, body string)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := a()
	rec := httptest.NewRecorder()
	rec.WriteHeader(status)
	_, _ = rec.WriteString(body)
	return rec.Result(), nil
}

// TestExchangeKeeps checks that tokens are cached until shortly before they expire, and that
// their number is limited.
func TestExchangeKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := &tokenexchange.Policy{Mode: tokenexchange.Exchange, Exchanger: &tokenexchange.Exchanger{
			TokenURL: "https://id.example/token", Client: &http.Client{Transport: answers(func() (int, string) {
				n++
				return 200, fmt.Sprintf(`{"access_token":"at-%d","issued_token_type":"urn:ietf:params:oauth:token-type:jwt","token_type":"Bearer","expires_in":300}`, n)
			})},
		}}
		get := func(own string) string {
			t.Helper()
			h, err := p.Header(withBearer(t.Context(), own))
			if err != nil {
				t.Fatal(err)
			}
			return h.Get("Authorization")
		}
		first := get("own")
		time.Sleep(269 * time.Second)
		synctest.Wait()
		if get("own") != first {
			t.Error("a token that is good for 31 seconds more is not used")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if get("own") == first {
			t.Error("a token is used that ends in 29 seconds")
		}
		for i := range 3000 {
			get(fmt.Sprint("own-", i))
		}
		before := n
		if get("own-2999"); n != before {
			t.Error("the newest token was forgotten")
		}
		for i := range 3000 {
			get(fmt.Sprint("own-", i))
		}
		if kept := 3000 - (n - before); kept > 1024 {
			t.Errorf("%d tokens are kept", kept)
		}
	})
}
