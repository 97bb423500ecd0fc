package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/secret/openid"
	"github.com/parley-a2a/parley/internal/testing/tokentest"
)

// provider is an OpenID provider. Package internal/secret/openid tests its checks, and
// internal/e2e/browser uses a real one.
type provider struct {
	*httptest.Server
	t     *testing.T
	key   tokentest.Issuer
	nonce string
	// more are further claims of ID tokens.
	more map[string]any
}

// ServeHTTP implements http.Handler.
func (o *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var doc any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		doc = map[string]string{"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token", "jwks_uri": o.URL + "/keys", "end_session_endpoint": o.URL + "/end"}
	case "/keys":
		doc = json.RawMessage(o.key.KeySet(o.t))
	case "/token":
		claims := map[string]any{"aud": "console", "nonce": o.nonce, "iat": time.Now().Unix(), "sub": r.PostFormValue("code"), "name": "Person " + r.PostFormValue("code")}
		for k, v := range o.more {
			claims[k] = v
		}
		doc = map[string]string{"access_token": "opaque", "token_type": "Bearer", "id_token": o.key.Token(o.t, o.key.Good(claims))}
	default:
		return // the test takes the address
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

// newSignInWorld starts a hub for callers with keys, or who sign in at a provider.
func newSignInWorld(t *testing.T) (*world, *provider) {
	t.Helper()
	o := &provider{t: t}
	o.Server = httptest.NewServer(o)
	t.Cleanup(o.Close)
	o.key = tokentest.Issuer{URL: o.URL, Audience: "https://hub.example", KID: "k1", Key: tokentest.NewKey(t)}
	issuer := &token.Issuer{
		Name: "my corp", URL: o.URL, Audiences: []string{"https://hub.example"}, RolesClaim: "groups", Roles: map[string]string{"ops": "admin"},
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	v := &token.Verifier{Issuers: []*token.Issuer{issuer}, Client: client}
	w := &world{t: t, tokens: v, providers: []*openid.Provider{{Name: "my corp", URL: o.URL, ClientID: "console", Verifier: v, Client: client}}}
	w.start(true)
	return w, o
}

// begin follows the button of the page to sign in, and returns the address of the provider with
// the query that it would send the browser back with.
func (p *person) begin(o *provider, next string) (back string) {
	p.t.Helper()
	p.get("/console/sign-in")
	a := p.get("/console/sign-in/openid/my%20corp/start?next=" + url.QueryEscape(next))
	u, err := url.Parse(a.address)
	if err != nil || !strings.HasPrefix(a.address, o.URL+"/authorize?") {
		p.t.Fatalf("the button leads to %d %s", a.code, a.address)
	}
	q := u.Query()
	o.nonce = q.Get("nonce")
	want := p.url + "/console/sign-in/openid/my%20corp"
	if q.Get("redirect_uri") != want {
		p.t.Errorf("redirect_uri = %s, want %s", q.Get("redirect_uri"), want)
	}
	return "/console/sign-in/openid/my%20corp?code=ada&state=" + q.Get("state")
}

// TestOpenID signs in at a provider, and checks the cookies, the page that leads on, and the
// sign-out.
func TestOpenID(t *testing.T) {
	t.Parallel()
	w, o := newSignInWorld(t)
	o.more = map[string]any{"groups": []string{"ops"}}
	p := w.person()
	wants(t, p.get("/console/sign-in?next=/console/inbox"), 200, "Sign in with my corp", "/console/sign-in/openid/my%20corp/start?next=%2Fconsole%2Finbox")
	before := p.cookie()
	a := p.get(p.begin(o, "/console/tasks?state=x&agent=y"))
	wants(t, a, 200, `href="/console/tasks?state=x&amp;agent=y"`)
	if got := a.header.Get("Refresh"); got != "0; url=/console/tasks?state=x&agent=y" {
		t.Errorf("Refresh = %s", got)
	}
	if strings.Contains(a.body, "Person ada") {
		t.Error("the page that leads on shows the account, as if the sign-in had arrived")
	}
	for _, c := range a.header.Values("Set-Cookie") {
		strict := strings.HasPrefix(c, "parley_console=") && strings.Contains(c, "; HttpOnly; SameSite=Strict")
		dropped := strings.HasPrefix(c, "parley_sign_in_") && strings.Contains(c, "Max-Age=0; HttpOnly; SameSite=Lax")
		if !strict && !dropped {
			t.Errorf("cookie %s", c)
		}
	}
	if p.cookie() == before {
		t.Error("the session has the cookie from before")
	}
	a = p.get("/console/")
	wants(t, a, 200, "Person ada", "admin", "Sign out", "Audit")
	if strings.Contains(a.body, "eyJ") {
		t.Error("the page has the ID token")
	}
	wants(t, p.post("/console/sign-out"), 200, "You are signed out", "href=\""+o.URL+"/end?client_id=console\"")
	if a := p.get("/console/tasks"); !strings.HasPrefix(a.path, "/console/sign-in") {
		t.Errorf("after the sign-out: %s", a.path)
	}
}

// TestOpenIDRefuses changes one thing in a sign-in. No session begins, and the next address stays in
// the console.
func TestOpenIDRefuses(t *testing.T) {
	t.Parallel()
	w, o := newSignInWorld(t)
	for _, next := range []string{"https://evil.example/", "//evil.example/console/", `/console/\evil`, "/a2a", "javascript:alert(1)", "/console/" + strings.Repeat("x", 2000), "/console/\r\nx: y", "/console"} {
		p := w.person()
		if got := p.get(p.begin(o, next)).header.Get("Refresh"); got != "0; url=/console/" {
			t.Errorf("next %q leads to %s", next, got)
		}
	}
	for name, change := range map[string]func(p *person, back string) string{
		"another state": func(_ *person, back string) string {
			return strings.Replace(back, "state=", "state=ABCDEFGH", 1)[:len(back)]
		},
		"no state": func(_ *person, back string) string { return back[:strings.Index(back, "&state")] },
		"a state of a path": func(_ *person, back string) string {
			return back[:strings.Index(back, "&state")] + "&state=..%2F..%2F..%2F..%2F..%2F..%2F..%2F.."
		},
		"another browser":    func(p *person, back string) string { p.client.Jar = w.person().client.Jar; return back },
		"the same one twice": func(p *person, back string) string { p.get(back); p.client.Jar = w.person().client.Jar; return back },
		"a changed cookie": func(p *person, back string) string {
			u, _ := url.Parse(p.url + "/console/sign-in/openid/x")
			for _, c := range p.client.Jar.Cookies(u) {
				if strings.HasPrefix(c.Name, "parley_sign_in_") {
					other := "A"
					if c.Value[40] == 'A' {
						other = "B"
					}
					p.client.Jar.SetCookies(u, []*http.Cookie{{Name: c.Name, Path: "/console/sign-in/openid/", Value: c.Value[:40] + other + c.Value[41:]}})
				}
			}
			return back
		},
	} {
		p := w.person()
		back := change(p, p.begin(o, "/console/"))
		wants(t, p.get(back), 400, "You are not signed in", "did not start this sign-in")
		if a := p.get("/console/tasks"); !strings.HasPrefix(a.path, "/console/sign-in") {
			t.Errorf("%s: signed in at %s", name, a.path)
		}
	}
	p := w.person()
	wants(t, p.get(strings.Replace(p.begin(o, "/console/"), "code=ada", "error=access_denied", 1)), 403, "rejected it")
	o.more = map[string]any{"aud": "other"}
	wants(t, p.get(p.begin(o, "/console/")), 403, "rejected it")
	if a := p.get("/console/sign-in/openid/other/start"); a.code != 404 {
		t.Errorf("another provider = %d", a.code)
	}
	if a := p.get("/console/sign-in/openid/other?state=x"); a.code != 404 {
		t.Errorf("the answer of another provider = %d", a.code)
	}
}

// TestOpenIDBegins checks which requests begin a sign-in: those of a page of the console.
func TestOpenIDBegins(t *testing.T) {
	t.Parallel()
	w, _ := newSignInWorld(t)
	const start = "/console/sign-in/openid/my%20corp/start?next=%2Fconsole%2Ftasks"
	if a := w.person().get(start); a.path != "/console/sign-in?next=%2Fconsole%2Ftasks" {
		t.Errorf("without a page before: %s", a.path)
	}
	p := w.person()
	p.get("/console/sign-in")
	for site, want := range map[string]bool{"same-origin": true, "same-site": false, "cross-site": false, "none": false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+start, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", site)
		if a := p.do(r); strings.Contains(a.path, "/authorize") != want {
			t.Errorf("%s leads to %s", site, a.path)
		}
	}
}

// TestLinksFromElsewhere follows a link on another site without and with a session. The browser does
// not send the cookie of the session at first, and keeps it.
func TestLinksFromElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	follow := func(p *person, path, mode string, cookie string) page {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Cookie", cookie)
		return (&person{world: w, client: &http.Client{Transport: p.client.Transport}}).do(r)
	}
	p := w.as(annsKey)
	a := follow(p, "/console/tasks?state=x&agent=%22%3B", "navigate", "")
	wants(t, a, 200, "Continue to the page")
	if got := a.header.Get("Refresh"); got != "0; url=/console/tasks?state=x&agent=%22%3B" || strings.Contains(strings.Join(a.header.Values("Set-Cookie"), ""), "parley_console") {
		t.Errorf("Refresh = %s, cookies %q", got, a.header.Values("Set-Cookie"))
	}
	if a := follow(p, "/console/tasks", "navigate", "parley_again=1"); !strings.HasPrefix(a.path, "/console/sign-in") {
		t.Errorf("the second time = %s", a.path)
	}
	if a := follow(p, "/console/tasks", "cors", ""); !strings.HasPrefix(a.path, "/console/sign-in") {
		t.Errorf("a script gets %s", a.path)
	}
	if a := follow(p, "/console/tasks", "navigate", "parley_console="+p.cookie()); a.path != "/console/tasks" {
		t.Errorf("with a cookie = %s", a.path)
	}
}
