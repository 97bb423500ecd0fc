package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// doorway is an address that is known before the hub behind it is started.
type doorway struct {
	hub atomic.Pointer[httputil.ReverseProxy]
}

func (d *doorway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := d.hub.Load(); p != nil {
		p.ServeHTTP(w, r)
		return
	}
	http.Error(w, "no hub", http.StatusBadGateway)
}

// startDoorway returns a doorway and its address.
func startDoorway(t *testing.T) (*doorway, string) {
	t.Helper()
	d := new(doorway)
	srv := httptest.NewServer(duplex(d))
	t.Cleanup(srv.Close)
	return d, srv.URL
}

// serve starts a hub behind the doorway.
func (d *doorway) serve(t *testing.T, config string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	at, _ := serveHub(t, dir, "--data", t.TempDir(), "--bus", "off", "--agents", "none")
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	d.hub.Store(httputil.NewSingleHostReverseProxy(u))
}

// TestTokenExchange makes an authorization server issue tokens for callers: for their own
// tokens, and for the hub's assertions about them. The agent behind another hub identifies the
// callers by that server's claims.
func TestTokenExchange(t *testing.T) {
	t.Parallel()
	inner, hubA := startDoorway(t)
	outer, hubB := startDoorway(t)
	issuer := startForeign(t, "oidc", append(node("exchange.mjs")(t, "oidc"), hubA, hubB))
	inner.serve(t, fmt.Sprintf(`
public_url: %[1]s
auth:
  api_keys:
    alice-0123456789abcdef: {agent_id: alice}
    mallory-0123456789abcdef: {agent_id: mallory}
  tokens: [{name: corp, issuer: %[3]q, audiences: [%[1]q]}]
agents:
  - name: far
    url: %[2]s/a2a/who
    identity: {mode: exchange, token_url: "%[3]s/token", client_id: hub, client_secret: "s3cret/+&=%%", resource: %[2]q, scope: a2a}
  - name: wrong
    url: %[2]s/a2a/who
    identity: {mode: exchange, token_url: "%[3]s/token", client_id: hub, client_secret: "s3cret/+&=%%", resource: "https://other.example", scope: a2a}
`, hubA, hubB, issuer))
	outer.serve(t, fmt.Sprintf(`
public_url: %[1]s
auth:
  tokens: [{name: corp, issuer: %[2]q, audiences: [%[1]q], required_scopes: [a2a]}]
agents:
  - {name: who, command: [sh, -c, 'printf %%s "$PARLEY_CALLER"']}
`, hubB, issuer))

	robot := "Bearer " + (&openID{t, issuer}).token(hubA, "a2a")
	for _, tc := range []struct{ agent, shown, want string }{
		{"far", "Bearer alice-0123456789abcdef", `"id\":\"corp:alice\"`},
		{"far", "Bearer alice-0123456789abcdef", `"id\":\"corp:alice\"`}, // from the cache
		{"far", robot, `"id\":\"corp:robot\"`},
		{"far", "Bearer mallory-0123456789abcdef", "cannot get the identity of the caller: token endpoint (address): rejected the request with status 400: invalid_grant"},
		{"wrong", robot, "rejected the request with status 400: invalid_target"},
	} {
		if got := shows(t, hubA+"/v1/a2a/"+tc.agent+"/message:send", tc.shown); !strings.Contains(got, tc.want) {
			t.Errorf("%s with %.20s…: %s, want %s", tc.agent, tc.shown, got, tc.want)
		}
	}
	const prefix = "urn:ietf:params:oauth:token-type:"
	var asked []string
	if err := json.Unmarshal([]byte(shows(t, issuer+"/asked", "")), &asked); err != nil {
		t.Fatal(err)
	}
	want := []string{prefix + "jwt", prefix + "access_token", prefix + "jwt", prefix + "access_token"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the server was asked about (-want +got):\n%s", diff)
	}
}

// shows sends a message with the given credentials, or reads if the credentials are empty, and
// returns the answer.
func shows(t *testing.T, at, shown string) string {
	t.Helper()
	method, body := http.MethodPost, restSend
	if shown == "" {
		method, body = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	if shown != "" {
		req.Header.Set("Authorization", shown)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
