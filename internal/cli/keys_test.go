package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// fakeHub answers every request with a status and a body, and records the requests.
func fakeHub(t *testing.T, code int, body string) (url string, requests *[]string) {
	t.Helper()
	requests = new([]string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, requests
}

func TestKeysForAPerson(t *testing.T) {
	t.Parallel()
	url, requests := fakeHub(t, 200, `{"keys":[
		{"id":"k1","agentId":"ann","displayName":"Ann Lee","owner":"acme","roles":["admin","ops"],"state":"active","lastUsedAt":"2026-01-01T03:04:05Z"},
		{"id":"k2","agentId":"b\u001bob","roles":[],"state":"expired","expiresAt":"2026-01-02T03:04:05Z"},
		{"id":"k3","agentId":"bob","roles":[],"state":"revoked","expiresAt":"2026-01-02T03:04:05Z","revokedAt":"2026-01-01T00:00:00Z"}]}`)
	want := `KEY  AGENT  STATE    ENDS                      ROLES      LAST USED                 OWNER  NAME
k1   ann    active   -                         admin,ops  2026-01-01T03:04:05.000Z  acme   Ann Lee
k2   bob    expired  2026-01-02T03:04:05.000Z  -          -                         -      -
k3   bob    revoked  2026-01-01T00:00:00.000Z  -          -                         -      -
`
	code, out, errs := invoke(t, OS{Terminal: true}, "keys", "list", "--url", url+"/", "--api-key", "k")
	if diff := cmp.Diff(want, out); diff != "" || code != 0 {
		t.Errorf("keys list = %d, %s (-want +got):\n%s", code, errs, diff)
	}
	if diff := cmp.Diff([]string{"GET /api/v1/keys Bearer k"}, *requests); diff != "" {
		t.Errorf("requests mismatch (-want +got):\n%s", diff)
	}
	url, _ = fakeHub(t, 200, `{"keys":[]}`)
	if code, out, _ := invoke(t, OS{Terminal: true}, "keys", "list", "--url", url); code != 0 || out != "No keys: callers need no credentials.\n" {
		t.Errorf("without keys = %d, %q", code, out)
	}
}

func TestKeysOfAFolder(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "parley.yaml"), []byte("auth: {roles: [ops]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := invoke(t, OS{}, "keys", "add", "--data", data, "--json", "--role", "admin", "--role", "ops", "--owner", "acme", "--expires", "2d")
	var made adminapi.MadeKey
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 || errs != "" {
		t.Fatalf("keys add --json = %d, %q, %q", code, out, errs)
	}
	if made.AgentID != "key-"+made.ID || !made.First || made.Owner != "acme" || len(made.Roles) != 2 || made.ExpiresAt.Sub(*made.CreatedAt).Hours() != 48 {
		t.Errorf("key = %+v", made)
	}
	code, out, _ = invoke(t, OS{}, "keys", "list", "--data", data)
	if want := made.ID + "\t" + made.AgentID + "\tactive\t" + timeName(made.ExpiresAt) + "\tadmin,ops\t-\tacme\t-\n"; code != 0 || out != want {
		t.Errorf("keys list = %d, %q, want %q", code, out, want)
	}
	code, out, _ = invoke(t, OS{}, "keys", "revoke", "--data", data, made.ID, "--after", "1h")
	if !strings.HasPrefix(out, "key "+made.ID+" of "+made.AgentID+" is valid until 2") || code != 0 {
		t.Errorf("keys revoke --after = %d, %q", code, out)
	}
	code, _, errs = invoke(t, OS{}, "keys", "add", "--data", data, "--agent", "local")
	if code != exitFailed || !strings.Contains(errs, "callers without credentials") {
		t.Errorf("keys add --agent local = %d, %q", code, errs)
	}
}

// TestHubsThatAnswerOddly checks the errors for a server that is no hub, or refuses the caller.
func TestHubsThatAnswerOddly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a page":        {200, "<html>", "is not a Parley hub: unexpected response"},
		"a redirect":    {302, "", "HTTP 302 Found"},
		"a proxy":       {502, "<h1>bad gateway</h1>", "HTTP 502 Bad Gateway"},
		"no hub":        {404, "404 page not found", "HTTP 404 Not Found"},
		"a refusal":     {403, `{"error":{"message":"not you"}}`, "parley keys list: not you\n"},
		"unknown":       {401, `{"error":{"message":"who are you"}}`, "who are you; give a credential with --api-key or $PARLEY_API_KEY\n"},
		"an empty word": {500, `{"error":{}}`, "HTTP 500 Internal Server Error"},
	} {
		url, requests := fakeHub(t, tt.status, tt.body)
		code, out, errs := invoke(t, OS{}, "keys", "list", "--url", url)
		if code != exitFailed || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, %q, %q, want %q", name, code, out, errs, tt.want)
		}
		if len(*requests) != 1 {
			t.Errorf("%s: requests %q, want one", name, *requests)
		}
	}
	for _, url := range []string{"127.0.0.1:1", "http://127.0.0.1:1"} {
		code, _, errs := invoke(t, OS{}, "keys", "list", "--url", url)
		if code != exitUnreachable || !strings.Contains(errs, "not reachable") || strings.Contains(errs, "parley serve") {
			t.Errorf("nobody at %s: exit %d, %q", url, code, errs)
		}
	}
	if code, _, errs := invoke(t, OS{}, "keys", "list", "--url", "http://[::1"); code != exitUsage || !strings.Contains(errs, "is not a URL") {
		t.Errorf("no URL: exit %d, %q", code, errs)
	}
}
