package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOpenIDProvider authenticates callers by tokens of a real OpenID provider. It checks their
// permissions and the refusals, and that no valid token is refused while the provider rotates
// its key.
func TestOpenIDProvider(t *testing.T) {
	t.Parallel()
	p := &openID{t, startForeign(t, "oidc", node("provider.mjs")(t, "oidc"))}
	dir := t.TempDir()
	config := fmt.Sprintf(`
auth:
  tokens:
    - name: corp
      issuer: %s
      audiences: ["https://hub.example", "https://brief.example"]
      skew: 1ms
      required_scopes: [a2a]
      scopes: {operate: admin}
`, p.issuer)
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	hub, _ := serveHub(t, dir, "--data", t.TempDir())
	const aud = "https://hub.example"

	good := p.token(aud, "a2a")
	for what, tc := range map[string]struct {
		path, token string
		want        int
	}{
		"a good token":                       {"/v1/a2a/message:send", good, http.StatusOK},
		"the same over JSON-RPC":             {"/a2a", good, http.StatusOK},
		"no token":                           {"/v1/a2a/message:send", "", http.StatusUnauthorized},
		"for another audience":               {"/v1/a2a/message:send", p.token("https://other.example", "a2a"), http.StatusUnauthorized},
		"without the scope":                  {"/v1/a2a/message:send", p.token(aud, "operate"), http.StatusForbidden},
		"changed by a character":             {"/v1/a2a/message:send", good[:len(good)-4] + "AAAA", http.StatusUnauthorized},
		"an administrator's work":            {"/api/v1/keys", good, http.StatusForbidden},
		"the same with the scope that it is": {"/api/v1/keys", p.token(aud, "a2a operate"), http.StatusOK},
	} {
		if got := p.call(hub, tc.path, tc.token); got != tc.want {
			t.Errorf("%s: %s answers with %d, want %d", what, tc.path, got, tc.want)
		}
	}
	p.expires(hub)
	p.card(hub)
	p.rotates(hub, aud)
}

// openID is the provider.
type openID struct {
	t      *testing.T
	issuer string
}

// token returns a token for an audience with scopes.
func (p *openID) token(audience, scope string) string {
	p.t.Helper()
	resp, err := http.PostForm(p.issuer+"/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"robots-only"},
		"resource": {audience}, "scope": {scope},
	})
	if err != nil {
		p.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Error(err)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Token == "" {
		p.t.Errorf("no token: %s, %v", text, err)
	}
	return answer.Token
}

const restSend = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

// call sends a message, or reads from the hub's own API, and returns the status.
func (p *openID) call(hub, path, token string) int {
	p.t.Helper()
	method, body := http.MethodPost, restSend
	switch {
	case path == "/a2a":
		body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + restSend + `}`
	case strings.HasPrefix(path, "/api/"):
		method, body = http.MethodGet, ""
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, hub+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		p.t.Error(err)
		return 0
	}
	return resp.StatusCode
}

// expires uses a token with a lifetime of one second until it is refused.
func (p *openID) expires(hub string) {
	p.t.Helper()
	token := p.token("https://brief.example", "a2a")
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if p.call(hub, "/v1/a2a/message:send", token) == http.StatusUnauthorized {
			return
		}
	}
	p.t.Error("a token of one second is taken after twenty")
}

// card checks that the card names the issuer of tokens.
func (p *openID) card(hub string) {
	p.t.Helper()
	resp, err := http.Get(hub + "/.well-known/agent-card.json")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if want := p.issuer + "/.well-known/openid-configuration"; !strings.Contains(string(text), want) {
		p.t.Errorf("the card does not name %s: %s", want, text)
	}
}

// rotates changes the provider's key four times, while callers send with new tokens.
func (p *openID) rotates(hub, aud string) {
	p.t.Helper()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got := p.call(hub, "/v1/a2a/message:send", p.token(aud, "a2a")); got != http.StatusOK {
					p.t.Errorf("a good token is answered with %d", got)
					return
				}
			}
		})
	}
	for range 4 {
		resp, err := http.Post(p.issuer+"/rotate", "text/plain", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		resp.Body.Close()
		for range 20 { // the new key is used meanwhile
			if got := p.call(hub, "/v1/a2a/message:send", p.token(aud, "a2a")); got != http.StatusOK {
				p.t.Errorf("after a new key: %d", got)
			}
		}
	}
	close(done)
	wg.Wait()
}
