package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/server"
)

// site is a hub in this process behind a server whose address is known before the hub starts.
type site struct {
	t   *testing.T
	srv *httptest.Server
	dir string
	hub *server.Hub

	mu    sync.Mutex // guards the fields below
	front http.Handler
	shown []string // values of Authorization, except those of the test itself
	logs  bytes.Buffer
}

// newSite returns a site without a hub.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.srv = httptest.NewServer(s)
	t.Cleanup(s.srv.Close)
	return s
}

// ServeHTTP passes the request to the hub.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	front := s.front
	if r.Header.Get("X-Test") == "" {
		s.shown = append(s.shown, strings.Join(r.Header["Authorization"], "|"))
	}
	s.mu.Unlock()
	if front == nil {
		http.Error(w, "no hub", http.StatusBadGateway)
		return
	}
	front.ServeHTTP(w, r)
}

// Write receives the log of the hub.
func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs.Write(b)
}

// tokens returns the bearer tokens that the site has received, without duplicates.
func (s *site) tokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, v := range s.shown {
		if text, ok := strings.CutPrefix(v, "Bearer "); ok && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// serve starts the hub with a configuration; the returned function stops it.
func (s *site) serve(config string) (stop func()) {
	s.t.Helper()
	path := filepath.Join(s.dir, "parley.yaml")
	config = fmt.Sprintf("public_url: %s\nbus: {url: off}\npush: {\"off\": true}\n%s", s.srv.URL, config)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	c := serveCmd{Listen: "127.0.0.1:0", Config: path, Data: filepath.Join(s.dir, "data"), Agents: "none", Bus: "off"}
	cfg, err := c.settings()
	if err != nil {
		s.t.Fatal(err)
	}
	cfg.Engine.DrainTimeout = -1
	h, end := running(s.t, cfg, slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})))
	<-h.Recovered()
	s.mu.Lock()
	s.hub, s.front = h, h.Handler()
	s.mu.Unlock()
	stop = sync.OnceFunc(func() {
		s.mu.Lock()
		s.front = nil
		s.mu.Unlock()
		end()
	})
	s.t.Cleanup(stop)
	return stop
}

// say sends a message to an agent, with a header, and returns the status and the body of the
// answer.
func (s *site) say(agent, header, text string) (int, string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, time.Now().Format(time.RFC3339Nano), text)
	q := httpQuery{at: s.srv.URL, what: "POST /v1/a2a/" + agent + "/message:send", body: body, header: []string{"A2A-Version: 1.0", "X-Test: 1", header}}
	resp, answer := q.answered(s.t)
	return resp.StatusCode, answer
}

// claimsAt returns the PARLEY_CALLER of a program that was called through a hub.
func (s *site) claimsAt(agent, header string) map[string]any {
	s.t.Helper()
	status, body := s.say(agent, header, "who am I?")
	var answer struct {
		Task struct {
			Artifacts []struct {
				Parts []struct{ Text string } `json:"parts"`
			} `json:"artifacts"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Task.Artifacts) == 0 {
		s.t.Fatalf("%s answers with %d %s", agent, status, body)
	}
	var text string
	for _, a := range answer.Task.Artifacts {
		for _, p := range a.Parts {
			text += p.Text
		}
	}
	var who map[string]any
	if err := json.Unmarshal([]byte(text), &who); err != nil {
		s.t.Fatalf("%s says %q: %v", agent, text, err)
	}
	return who
}

// believing is the configuration of a hub that trusts another hub, of which it knows only the
// address.
const believing = `
auth:
  tokens:
    - name: %[1]s
      issuer: %[2]s
      audiences: [%[3]q]
      owner_claim: org
      owners: {acme: partner-acme}
      roles_claim: roles
      roles: {ops: operator}
`

// keysAt adds the address of the keys to believing.
func keysAt(config string, s *site) string {
	return strings.Replace(config, "      audiences", "      keys_url: "+s.srv.URL+"/.well-known/jwks.json\n      audiences", 1)
}

// identityAgent is a program that prints its caller.
const identityAgent = `
agents:
  - {name: calendar, command: [sh, -c, 'printf %s "$PARLEY_CALLER"']}
`

const aliceKey = "alice-0123456789abcdef"

// TestOnward checks that a caller of hub A reaches an agent behind hub B, and an agent behind
// hub C through B. Each hub identifies the caller by the assertion of the previous hub and
// writes it to its audit log. The assertion of A for B is invalid elsewhere.
func TestOnward(t *testing.T) {
	t.Parallel()
	a, b, c := newSite(t), newSite(t), newSite(t)
	a.serve(fmt.Sprintf(`
auth:
  roles: [ops]
  api_keys: {%s: {agent_id: alice, owner: acme, roles: [ops, admin]}, bob-0123456789abcdef: {agent_id: bob}}
agents:
  - {name: calendar, url: %[2]s/a2a/calendar, identity: {mode: assertion, claims: [org, roles]}}
  - {name: far, url: %[2]s/a2a/far, identity: {mode: assertion, claims: [org]}}
  - {name: silent, url: %[2]s/a2a/calendar}
`, aliceKey, b.srv.URL))
	b.serve(keysAt(fmt.Sprintf(believing, "a", a.srv.URL, b.srv.URL), a) + identityAgent +
		fmt.Sprintf("  - {name: far, url: %s/a2a/calendar, identity: {mode: assertion}}\n", c.srv.URL))
	c.serve(fmt.Sprintf(believing, "b", b.srv.URL, c.srv.URL) + identityAgent)

	alice := "X-Api-Key: " + aliceKey
	for _, tc := range []struct {
		agent, header string
		want          map[string]any
	}{
		{"calendar", alice, map[string]any{"id": "a:alice", "owner": "org:partner-acme", "org": "partner-acme", "roles": []any{"operator"}}},
		{"calendar", "X-Api-Key: bob-0123456789abcdef", map[string]any{"id": "a:bob", "owner": "a:bob"}},
		{"far", alice, map[string]any{"id": "b:a:alice", "owner": "b:a:alice"}},
	} {
		if diff := cmp.Diff(tc.want, a.claimsAt(tc.agent, tc.header)); diff != "" {
			t.Errorf("%s for %s (-want +got):\n%s", tc.agent, tc.header, diff)
		}
	}
	if status, body := a.say("silent", alice, "hi"); !strings.Contains(body, "rejected the hub's credentials") {
		t.Errorf("an agent without a token admits the hub: %d %s", status, body)
	}

	const written = `"actor":{"id":"a:alice","owner":"org:partner-acme","auth":"token"`
	if len(holding(t, filepath.Join(b.dir, "data", "audit"), written)) == 0 {
		t.Errorf("the audit log of B does not have %s", written)
	}

	stolen := b.tokens()[0]
	for _, tc := range []struct {
		where string
		at    *site
		want  int
	}{{"at B, for which it is", b, http.StatusOK}, {"at C", c, http.StatusUnauthorized}, {"at A itself", a, http.StatusUnauthorized}} {
		for _, header := range []string{"Authorization: Bearer " + stolen, "X-Api-Key: " + stolen} {
			if got, body := tc.at.say("calendar", header, "hi"); got != tc.want {
				t.Errorf("a stolen assertion %s: %d %s, want %d", tc.where, got, body, tc.want)
			}
		}
	}
	if n := len(b.tokens()); n < 3 {
		t.Errorf("B was shown %d assertions, want another one with each call", n)
	}
}

// TestIssuerIsDiscovered checks that the issuer metadata of a hub suffice for verifiers, and
// are served only by a hub that asserts identities. A hub that trusts another issuer at that
// address is not deceived.
func TestIssuerIsDiscovered(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.serve(fmt.Sprintf(`
auth: {api_keys: {%s: {agent_id: alice}}}
agents:
  - {name: calendar, url: %s/a2a/calendar, identity: {mode: assertion}}
`, aliceKey, b.srv.URL))
	stop := b.serve(fmt.Sprintf(believing, "a", a.srv.URL, b.srv.URL) + identityAgent)
	const place = "/.well-known/openid-configuration"
	resp, body := (&httpQuery{at: a.srv.URL, what: "GET " + place}).answered(t)
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", place, resp.StatusCode, body)
	}
	want := map[string]any{
		"issuer": a.srv.URL, "jwks_uri": a.srv.URL + "/.well-known/jwks.json", "id_token_signing_alg_values_supported": []any{"ES256"},
		"subject_types_supported": []any{"public"}, "response_types_supported": []any{}, "grant_types_supported": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", place, diff)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"} {
		if got := resp.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if resp, body := (&httpQuery{at: a.srv.URL, what: "POST " + place, body: "{}"}).answered(t); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d %s", resp.StatusCode, body)
	}
	if resp, body := (&httpQuery{at: b.srv.URL, what: "GET " + place}).answered(t); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a hub that asserts nothing: %d %s", resp.StatusCode, body)
	}
	alice := "X-Api-Key: " + aliceKey
	if diff := cmp.Diff(map[string]any{"id": "a:alice", "owner": "a:alice"}, a.claimsAt("calendar", alice)); diff != "" {
		t.Errorf("by the address alone (-want +got):\n%s", diff)
	}
	stop()
	b.serve(strings.Replace(fmt.Sprintf(believing, "a", a.srv.URL, b.srv.URL), "issuer: "+a.srv.URL, "issuer: "+a.srv.URL+"/other", 1) + identityAgent)
	if _, body := a.say("calendar", alice, "hi"); !strings.Contains(body, "rejected the hub's credentials") {
		t.Errorf("another issuer at the address is taken for this one: %s", body)
	}
}

// TestOnwardLeavesNoTrace checks that the token of a caller is sent only to the configured
// agents: not to other agents, programs and authorities, nor to the data folder and the logs.
// The same holds for assertions, exchanged tokens and the secrets of the hub.
func TestOnwardLeavesNoTrace(t *testing.T) {
	t.Parallel()
	key, err := token.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	set, err := token.KeySet(key)
	if err != nil {
		t.Fatal(err)
	}
	a, fwd, plain := newSite(t), newSite(t), newSite(t)
	corp := &token.Asserter{Issuer: "https://id.example", Key: func() (*token.Key, error) { return key, nil }}
	own, err := corp.Of(&auth.Principal{ID: "alice"}, a.srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var subjects []string // guarded by mu
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		subjects = append(subjects, r.FormValue("subject_token"))
		mu.Unlock()
		fmt.Fprint(w, `{"access_token":"exchanged-token","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}`)
	}))
	t.Cleanup(authority.Close)
	if err := os.WriteFile(filepath.Join(a.dir, "corp.json"), set, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*site{fwd, plain} {
		s.serve("allow_anonymous: true\n" + identityAgent)
		s.mu.Lock()
		front := s.front
		s.front = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Authorization")
			front.ServeHTTP(w, r)
		})
		s.mu.Unlock()
	}
	a.serve(fmt.Sprintf(`
auth:
  tokens: [{name: corp, issuer: "https://id.example", audiences: [%[1]q], keys_file: corp.json}]
agents:
  - {name: forwarded, url: %[2]s/a2a/calendar, identity: {mode: forward}}
  - {name: exchanged, url: %[2]s/a2a/calendar, identity: {mode: exchange, token_url: %[4]s/token, client_id: c, client_secret: topsecret}}
  - {name: asserted, url: %[3]s/a2a/calendar, identity: {mode: assertion, header: X-Caller}}
  - {name: plain, url: %[3]s/a2a/calendar}
  - {name: program, command: [sh, -c, 'env | grep -v -e ^PWD= -e ^OLDPWD='], identity: {mode: assertion}}
`, a.srv.URL, fwd.srv.URL, plain.srv.URL, authority.URL))

	var text string
	for _, name := range []string{"forwarded", "exchanged", "asserted", "plain", "program"} {
		status, body := a.say(name, "Authorization: Bearer "+own, "hi")
		if status != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if strings.Contains(body, own) {
			t.Errorf("%s has the caller's token: %s", name, body)
		}
		text += body
	}
	if diff := cmp.Diff([]string{own, "exchanged-token"}, fwd.tokens()); diff != "" {
		t.Errorf("the agent for which it is configured was shown (-want +got):\n%s", diff)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{own}, subjects); diff != "" {
		t.Errorf("the authority was shown (-want +got):\n%s", diff)
	}
	if got := plain.tokens(); len(got) != 0 {
		t.Errorf("other agents were shown %q", got)
	}
	if !strings.Contains(text, "PARLEY_ASSERTION=eyJ") {
		t.Errorf("the program has no assertion: %s", text)
	}
	a.mu.Lock()
	logs := a.logs.String()
	a.mu.Unlock()
	signature := own[strings.LastIndexByte(own, '.')+1:]
	for _, mark := range []string{own, signature, "exchanged-token", "topsecret"} {
		if strings.Contains(logs, mark) {
			t.Errorf("the log has %q", mark)
		}
		for path := range holding(t, filepath.Join(a.dir, "data"), mark) {
			t.Errorf("%s has %q", path, mark)
		}
	}
	if strings.Contains(logs, "eyJ") {
		t.Error("the log has a token")
	}
}

// holding returns the files below a folder that contain a mark.
func holding(t *testing.T, dir, mark string) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(mark)) {
			found[path] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
