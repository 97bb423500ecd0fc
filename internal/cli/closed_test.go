package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// TestHubsThatDoNotStart checks that a hub with an unsafe or invalid configuration does not
// start. It must never start with less protection than the configuration says. Each row is a
// hub that other machines reach, or a configuration with access rules.
func TestHubsThatDoNotStart(t *testing.T) {
	t.Parallel()
	const key = "auth: {api_keys: {partner-0123456789abcdef: {agent_id: partner}}}\n"
	for name, tt := range map[string]struct {
		config string
		listen string
		files  map[string]string
		want   string
	}{
		"reached by others, without keys":           {"", "0.0.0.0:0", nil, "anonymous callers are only allowed on loopback addresses"},
		"reached by others over IPv6":               {"", "[::]:0", nil, "anonymous callers are only allowed on loopback addresses"},
		"gRPC reached by others":                    {"grpc_listen: 0.0.0.0:0\n", "", nil, "anonymous callers are only allowed on loopback addresses"},
		"the same with a data folder that had none": {"", "0.0.0.0:0", map[string]string{"data/parley.db": ""}, "anonymous callers are only allowed on loopback addresses"},
		"a key in a variable that is not set":       {"auth: {api_keys: {'${NOT_SET}': {agent_id: a}}}\n", "", nil, "NOT_SET is not set"},
		"a key that can be guessed":                 {"auth: {api_keys: {secret: {agent_id: a}}}\n", "", nil, "shorter than"},
		"a key for nobody":                          {"auth: {api_keys: {partner-0123456789abcdef: {}}}\n", "", nil, "the id of the caller is missing"},
		"a key for the anonymous caller":            {"auth: {api_keys: {partner-0123456789abcdef: {agent_id: local}}}\n", "", nil, "is reserved for callers without credentials"},
		"openness by a variable that is not set":    {"allow_anonymous: ${NOT_SET}\n", "", nil, "NOT_SET is not set"},
		"a policy that is not there":                {key + "policy: none.yaml\n", "", nil, "load policy"},
		"a policy that is a folder":                 {key + "policy: data\n", "", map[string]string{"data/x": ""}, "load policy"},
		"a policy without a value":                  {key + "policy:\n", "", nil, "parley.yaml:2: policy: is empty"},
		"a policy in an empty variable":             {key + "policy: ${NOT_SET:-}\n", "", nil, "policy: is empty"},
		"a policy that is empty":                    {key + "policy: p.yaml\n", "", map[string]string{"p.yaml": ""}, "p.yaml: rules: is missing"},
		"a policy that is cut short":                {key + "policy: p.yaml\n", "", map[string]string{"p.yaml": "rules:\n  - allow: [send"}, "p.yaml:2"},
		"a policy with a mistake":                   {key + "policy: p.yaml\n", "", map[string]string{"p.yaml": "rules:\n  - {allow: send, who: anybody}\n  - {deny: sned, who: anybody}"}, `p.yaml:3: rules[1].deny: unknown operation "sned"`},
		"a policy here with a mistake":              {key + "policy: {rules: [{allow: send}]}\n", "", nil, "needs who"},
		"an issuer whose keys are not there":        {"auth: {tokens: [{name: c, issuer: 'https://c.example', audiences: [x], keys_file: none.json}]}\n", "", nil, "none.json"},
		"an issuer whose keys are no keys":          {"auth: {tokens: [{name: c, issuer: 'https://c.example', audiences: [x], keys_file: k.json}]}\n", "", map[string]string{"k.json": "{}"}, "keys_file"},
		"an issuer without an audience":             {"auth: {tokens: [{name: c, issuer: 'https://c.example'}]}\n", "", nil, "audiences"},
		"a model's script that is not there":        {"model_providers: [{name: m, script: none.yaml}]\nagents: [{name: a, model: {model: x}}]\n", "", nil, "parley.yaml: model_providers[0].script: load script: "},
		"a key that signs cards is not there":       {"cards: {signing_keys: [none.pem]}\n", "", nil, "none.pem"},
		"a file of trust that cannot be read":       {key + "trust: {file: t.json}\n", "", map[string]string{"t.json": "[{"}, "t.json"},
		"a master key that is none":                 {"", "", map[string]string{"data/" + seal.FileName: "x"}, seal.FileName},
		"a store that is none":                      {"", "", map[string]string{"data/parley.db": strings.Repeat("no database ", 1000)}, "parley.db"},
		"a broker that others reach, in the clear":  {"bus: {listen: '0.0.0.0:0'}\n", "", nil, "bus"},
		"a profile for kits on a hub with keys":     {"", "profile", nil, "keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"parley.yaml": tt.config}
			for name, text := range tt.files {
				files[name] = text
			}
			for name, text := range files {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			c := serveCmd{Config: filepath.Join(dir, "parley.yaml"), Data: filepath.Join(dir, "data"), Listen: "127.0.0.1:0"}
			switch {
			case tt.listen == "profile":
				c.Agents, c.Config = profileName, ""
				addKey(t, c.Data)
			case tt.listen != "":
				c.Listen = tt.listen
			}
			cfg, err := c.settings()
			if err == nil {
				var h *server.Hub
				if h, err = server.Open(t.Context(), server.Options{Config: cfg, Logger: slog.New(slog.DiscardHandler)}); err == nil {
					t.Cleanup(func() { h.Close() })
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the hub starts, or says something else: %v, want %q", err, tt.want)
			}
		})
	}
}

// addKey adds a key to a data folder.
func addKey(t *testing.T, data string) {
	t.Helper()
	err := (&keysFlags{Data: data}).inFolder(t.Context(), func(ring *auth.Keyring) error {
		k, _ := auth.NewKey(auth.Principal{ID: "a"}, time.Now())
		return ring.Add(t.Context(), k)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRequestsThatAreRefused lists requests that a hub with keys refuses.
func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	h := startRuled(t, `
auth:
  api_keys:
    ann-0123456789abcdef: {agent_id: ann, owners: [acme, beta]}
    bus-0123456789abcdef: {agent_id: "bus:w", roles: ["bus:w"]}
allow_anonymous: true
`)
	for _, tt := range []struct {
		name, who, request, body string
		headers                  []string
		want                     int
	}{
		{"a wrong key beside anonymous callers", "eve", "GET /v1/a2a/tasks", "", nil, 401},
		{"two keys", "ann", "GET /v1/a2a/tasks", "", []string{"Authorization: Bearer other-0123456789abcdef"}, 401},
		{"a key of workers", "bus", "GET /v1/a2a/tasks", "", nil, 401},
		{"another scheme", "", "GET /v1/a2a/tasks", "", []string{"Authorization: Basic YTpi"}, 401},
		{"an owner of others", "ann", "GET /v1/a2a/tasks", "", []string{"X-Parley-Owner: gamma"}, 403},
		{"an owner without a key", "", "GET /v1/a2a/tasks", "", []string{"X-Parley-Owner: acme"}, 403},
		{"keys, read without a key", "", "GET /api/v1/keys", "", nil, 403},
		{"a key, made without a key", "", "POST /api/v1/keys", "{}", nil, 403},
		{"keys, read by a caller", "ann", "GET /api/v1/keys", "", nil, 403},
		{"by way of a proxy", "", "POST /api/v1/keys", "{}", []string{"X-Forwarded-For: 127.0.0.1"}, 403},
		{"an administrator by header", "ann", "POST /api/v1/keys", "{}", []string{"X-Roles: admin"}, 403},
	} {
		if code, _, body := h.ask(tt.who, tt.request, tt.body, tt.headers...); code != tt.want {
			t.Errorf("%s: %d %s, want %d", tt.name, code, body, tt.want)
		}
	}
}

// TestAnonymousAdministrators checks that an anonymous caller on the hub's own machine
// administers a hub without keys, but not a caller that came through a proxy or a web page.
func TestAnonymousAdministrators(t *testing.T) {
	t.Parallel()
	h := startRuled(t, "policy: {rules: [{allow: '*', who: anybody}]}")
	for name, tt := range map[string]struct {
		headers []string
		want    int
	}{
		"straight":       {nil, 200},
		"by a proxy":     {[]string{"X-Forwarded-For: 192.0.2.1"}, 403},
		"from elsewhere": {[]string{"Forwarded: for=192.0.2.1"}, 403},
		"by a page":      {[]string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 403},
	} {
		if code, _, body := h.ask("", "GET /api/v1/keys", "", tt.headers...); code != tt.want {
			t.Errorf("%s: %d %s, want %d", name, code, body, tt.want)
		}
	}
}

// TestAuthenticatorsThatFail checks that an authenticator that does not return a principal with
// an id lets no caller in.
func TestAuthenticatorsThatFail(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]auth.Func{
		"error": func(context.Context, *auth.Request) (*auth.Principal, error) {
			return nil, errors.New("the store is gone")
		},
		"both": func(context.Context, *auth.Request) (*auth.Principal, error) {
			return &auth.Principal{ID: "a"}, errors.New("x")
		},
		"nobody": func(context.Context, *auth.Request) (*auth.Principal, error) { return nil, nil },
		"no id": func(context.Context, *auth.Request) (*auth.Principal, error) {
			return &auth.Principal{Roles: []string{"admin"}}, nil
		},
		"panic":      func(context.Context, *auth.Request) (*auth.Principal, error) { panic("x") },
		"not loaded": (&auth.Keyring{Store: noKeys{}}).Authenticate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(memstore.Store)
			hub := &parley.Hub{Auth: f, Store: store, Cards: parley.Cards{Extended: parley.ExtendedCards{Token: "0123456789abcdef0123456789abcdef"}}}
			echo := builtin.Agents()[0]
			hub.Handle(echo.Card, echo.Executor)
			body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
			for _, path := range []string{"/v1/a2a/message:send", "/v1/a2a/extendedAgentCard"} {
				method, text := http.MethodPost, body
				if strings.HasSuffix(path, "Card") {
					method, text = http.MethodGet, ""
				}
				r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(text))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				hub.Handler().ServeHTTP(w, r)
				if w.Code != http.StatusInternalServerError {
					t.Errorf("%s: %d %s, want 500", path, w.Code, w.Body)
				}
			}
			page, err := store.List(t.Context(), &task.Query{Owner: "local", Limit: 1})
			if err != nil || page.Total != 0 {
				t.Errorf("%d tasks were made: %v", page.Total, err)
			}
		})
	}
}

// noKeys is a store that cannot be read.
type noKeys struct{}

func (noKeys) Keys(context.Context) ([]auth.Key, error) { return nil, io.ErrUnexpectedEOF }
func (noKeys) PutKey(context.Context, *auth.Key) error  { return io.ErrUnexpectedEOF }
