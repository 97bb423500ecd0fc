package adminapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
)

// memory is a store of keys that can fail.
type memory struct{ err error }

func (*memory) Keys(context.Context) ([]auth.Key, error) { return nil, nil }

func (m *memory) PutKey(context.Context, *auth.Key) error { return m.err }

// keyed returns a handler with keys, and its log.
func keyed(t testing.TB) (*adminapi.Handler, *auth.Keyring, *bytes.Buffer) {
	t.Helper()
	own, err := auth.ConfiguredKey("an-operators-own-key", auth.Principal{ID: "ops", Roles: []string{"admin"}})
	if err != nil {
		t.Fatal(err)
	}
	ring := &auth.Keyring{Store: new(memory), Configured: []auth.Key{*own}}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	return &adminapi.Handler{Hub: newHub(), Keys: ring, Logger: slog.New(slog.NewTextHandler(log, nil))}, ring, log
}

var (
	boss  = &auth.Principal{ID: "boss", Roles: []string{"ops", "admin"}}
	clerk = &auth.Principal{ID: "clerk", Roles: []string{"administrator"}}
	local = &auth.Principal{ID: auth.Local}
)

// as sends a request of a caller; lines are headers like "Host: x", and "From: x" is the
// client's address.
func as(t testing.TB, h http.Handler, p *auth.Principal, request, body string, lines ...string) answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(auth.WithPrincipal(t.Context(), p), method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "192.0.2.1:5", "hub.example"
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "From":
			r.RemoteAddr = value
		case "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	return send(h, r)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the bubble fixes the times
		h, ring, log := keyed(t)
		got := as(t, h, boss, "POST /api/v1/keys", `{"agentId":"ann","displayName":"Ann","owner":"acme","roles":["admin"],"expiresIn":"48h"}`)
		made := got.decode(t)
		id, text := fmt.Sprint(made["id"]), fmt.Sprint(made["key"])
		want := map[string]any{
			"id": id, "key": text, "hint": "pk_" + id + "_…", "agentId": "ann", "displayName": "Ann", "owner": "acme",
			"roles": []any{"admin"}, "state": "active", "createdAt": "2000-01-01T00:00:00Z", "expiresAt": "2000-01-03T00:00:00Z",
		}
		if diff := cmp.Diff(want, made); diff != "" || got.code != 200 {
			t.Fatalf("POST = %d, mismatch (-want +got):\n%s", got.code, diff)
		}
		if k := ring.List()[1]; k.Hash != auth.HashKey(text) || k.Principal.Owner() != "org:acme" {
			t.Errorf("the key that was added is %+v", k)
		}
		got = as(t, h, boss, "POST /api/v1/keys", "")
		if plain := got.decode(t); got.code != 200 || plain["agentId"] != fmt.Sprint("key-", plain["id"]) {
			t.Errorf("POST without a body = %d %s", got.code, got.body)
		}

		time.Sleep(time.Hour)
		synctest.Wait()
		got = as(t, h, boss, "DELETE /api/v1/keys/"+id+"?after=24h", "")
		if k := got.decode(t); got.code != 200 || k["expiresAt"] != "2000-01-02T01:00:00Z" || k["state"] != "active" {
			t.Errorf("DELETE after a day = %d %s", got.code, got.body)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got = as(t, h, boss, "GET /api/v1/keys", ""); got.code != 200 || !strings.Contains(got.body, `"state":"expired"`) {
			t.Errorf("GET a day later = %d %s", got.code, got.body)
		}
		got = as(t, h, boss, "DELETE /api/v1/keys/"+id, "")
		if k := got.decode(t); got.code != 200 || k["state"] != "revoked" || k["revokedAt"] != "2000-01-02T01:00:00Z" {
			t.Errorf("DELETE = %d %s", got.code, got.body)
		}

		got = as(t, h, boss, "GET /api/v1/keys", "")
		var all adminapi.KeyList
		if err := json.Unmarshal([]byte(got.body), &all); err != nil || len(all.Keys) != 3 {
			t.Fatalf("GET = %d %s, %v, want three keys", got.code, got.body, err)
		}
		if k := all.Keys[0]; !k.Configured || k.AgentID != "ops" || k.State != adminapi.KeyActive || k.CreatedAt != nil {
			t.Errorf("first key = %+v, want the configured one", k)
		}
		if k := all.Keys[1]; k.ID != id || k.State != adminapi.KeyRevoked || k.Configured {
			t.Errorf("second key = %+v, want the revoked one", k)
		}
		if strings.Contains(got.body+log.String(), text) || strings.Contains(got.body, `"key"`) {
			t.Errorf("the key is returned twice: %s %s", got.body, log)
		}
		if n := strings.Count(log.String(), "key="+id+" agent=ann by=boss address=192.0.2.1:5"); n != 3 {
			t.Errorf("%d records of who changed the key, want 3: %s", n, log)
		}
	})
}

func TestFirstKey(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: new(memory)}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &adminapi.Handler{Hub: newHub(), Keys: ring}
	for _, first := range []any{true, nil} {
		got := as(t, h, boss, "POST /api/v1/keys", `{}`)
		if v := got.decode(t)["first"]; got.code != 200 || v != first {
			t.Errorf("first = %v, want %v", v, first)
		}
	}
}

// TestFirstKeyIsAdministrators checks that a caller who needs no key yet cannot lock itself out
// by accident.
func TestFirstKeyIsAdministrators(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]int{
		`{}`: 409, `{"agentId":"a","roles":["ops"]}`: 409, `{"withoutAdmin":false}`: 409,
		`{"roles":["admin"]}`: 200, `{"withoutAdmin":true}`: 200, `{"busAgent":"w"}`: 200,
	} {
		ring := &auth.Keyring{Store: new(memory)}
		if err := ring.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := &adminapi.Handler{Hub: newHub(), Keys: ring}
		got := as(t, h, local, "POST /api/v1/keys", body, "From: 127.0.0.1:5", "Host: 127.0.0.1")
		if got.code != code || len(ring.List()) != map[int]int{200: 1, 409: 0}[code] {
			t.Errorf("POST %s = %d %s with %d keys, want %d", body, got.code, got.body, len(ring.List()), code)
		}
		if code == 409 {
			got.failure(t, 409, "FAILED_PRECONDITION", "FIRST_KEY_NOT_ADMIN")
		}
	}
}

// TestUnknownRoles checks that a key with a misspelt role is refused.
func TestUnknownRoles(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: new(memory), KnownRoles: func() []string { return []string{"ops", "team-*"} }}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &adminapi.Handler{Hub: newHub(), Keys: ring}
	for body, code := range map[string]int{`["admin","op"]`: 400, `["Admin"]`: 400, `["team-"]`: 200, `["admin","ops","team-a"]`: 200} {
		got := as(t, h, boss, "POST /api/v1/keys", `{"roles":`+body+`}`)
		if got.code != code || code == 400 && !strings.Contains(got.body, "the roles are admin, ops, team-*;") {
			t.Errorf("roles %s = %d %s, want %d with the roles", body, got.code, got.body, code)
		}
	}
}

func TestKeyRequestsThatAreWrong(t *testing.T) {
	t.Parallel()
	h, ring, _ := keyed(t)
	configured := ring.List()[0].ID
	for name, tt := range map[string]struct {
		request, body string
		lines         []string
		code          int
		status        string
		reason, words string
	}{
		"local":             {"POST /api/v1/keys", `{"agentId":"local"}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "without credentials"},
		"empty role":        {"POST /api/v1/keys", `{"roles":[""]}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "role is empty"},
		"role of no list":   {"POST /api/v1/keys", `{"roles":"admin"}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "roles"},
		"unknown member":    {"POST /api/v1/keys", `{"agent":"a"}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "agent: is not known"},
		"days":              {"POST /api/v1/keys", `{"expiresIn":"2d"}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "expiresIn"},
		"past":              {"POST /api/v1/keys", `{"expiresIn":"-1h"}`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "expiresIn"},
		"no JSON":           {"POST /api/v1/keys", `{`, nil, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "not JSON"},
		"a list":            {"POST /api/v1/keys", `[]`, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "\"the body must be an object, not array\""},
		"two objects":       {"POST /api/v1/keys", `{}{}`, nil, 400, "INVALID_ARGUMENT", "PARSE_ERROR", "data after its end"},
		"large":             {"POST /api/v1/keys", `{"agentId":"` + strings.Repeat("a", 64<<10) + `"}`, nil, 413, "RESOURCE_EXHAUSTED", "REQUEST_TOO_LARGE", "65536"},
		"text":              {"POST /api/v1/keys", `{}`, []string{"Content-Type: text/plain"}, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "application/json"},
		"form without body": {"POST /api/v1/keys", ``, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "application/json"},
		"nobody's key":      {"DELETE /api/v1/keys/nothing", ``, nil, 404, "NOT_FOUND", "KEY_NOT_FOUND", "no such key"},
		"configured key":    {"DELETE /api/v1/keys/" + configured, ``, nil, 409, "FAILED_PRECONDITION", "KEY_CONFIGURED", "configuration file"},
		"after days":        {"DELETE /api/v1/keys/x?after=2d", ``, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "after"},
		"after a past":      {"DELETE /api/v1/keys/x?after=-1h", ``, nil, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "after"},
		"below a key":       {"DELETE /api/v1/keys/x/y", ``, nil, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "nothing is served"},
		"no id":             {"DELETE /api/v1/keys/", ``, nil, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "nothing is served"},
		"put":               {"PUT /api/v1/keys", `{}`, nil, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "GET, HEAD, POST"},
		"get one":           {"GET /api/v1/keys/" + configured, ``, nil, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND", "allowed: DELETE"},
	} {
		got := as(t, h, boss, tt.request, tt.body, tt.lines...)
		got.failure(t, tt.code, tt.status, tt.reason)
		if !strings.Contains(got.body, tt.words) {
			t.Errorf("%s: %s, want %q in it", name, got.body, tt.words)
		}
	}
	if n := len(ring.List()); n != 1 {
		t.Errorf("%d keys, want that of the configuration alone", n)
	}
}

func TestKeysOfAStoreThatFails(t *testing.T) {
	t.Parallel()
	ring := &auth.Keyring{Store: &memory{err: errors.New("secret path of a disk")}}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := as(t, &adminapi.Handler{Hub: newHub(), Keys: ring}, boss, "POST /api/v1/keys", "{}")
	got.failure(t, 500, "INTERNAL", "INTERNAL_ERROR")
	if strings.Contains(got.body, "secret") || strings.Contains(got.body, "pk_") {
		t.Errorf("answer %s has data that callers must not see", got.body)
	}
}

func TestHubWithoutKeys(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub()}
	for _, request := range []string{"GET /api/v1/keys", "POST /api/v1/keys", "DELETE /api/v1/keys/x"} {
		got := as(t, h, boss, request, "")
		got.failure(t, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
	}
}

func TestAdministrators(t *testing.T) {
	t.Parallel()
	h := &adminapi.Handler{Hub: newHub(), Keys: new(auth.Keyring)}
	for name, tt := range map[string]struct {
		p     *auth.Principal
		lines []string
		ok    bool
	}{
		"admin":                      {boss, nil, true},
		"admin behind a proxy":       {boss, []string{"X-Forwarded-For: 192.0.2.7"}, true},
		"another role":               {clerk, nil, false},
		"no role on this machine":    {clerk, []string{"From: 127.0.0.1:5", "Host: localhost:4100"}, false},
		"local":                      {local, []string{"From: 127.0.0.1:5", "Host: 127.0.0.1:4100"}, true},
		"local over IPv6":            {local, []string{"From: [::1]:5", "Host: [::1]"}, true},
		"local by name":              {local, []string{"From: 127.0.0.1:5", "Host: localhost"}, true},
		"local over a socket":        {local, []string{"From: @", "Host: localhost"}, true},
		"local from elsewhere":       {local, []string{"From: 192.0.2.1:5", "Host: localhost"}, false},
		"local behind a proxy":       {local, []string{"From: 127.0.0.1:5", "Host: localhost", "X-Forwarded-For: 127.0.0.1"}, false},
		"local behind RFC 7239":      {local, []string{"From: 127.0.0.1:5", "Host: localhost", "Forwarded: for=192.0.2.7"}, false},
		"local with an empty header": {local, []string{"From: 127.0.0.1:5", "Host: localhost", "X-Forwarded-For: "}, false},
		"local by another name":      {local, []string{"From: 127.0.0.1:5", "Host: evil.example"}, false},
		"local without a name":       {local, []string{"From: 127.0.0.1:5", "Host: "}, false},
	} {
		for request, denied := range map[string]bool{
			"GET /api/v1/keys": true, "POST /api/v1/keys": true, "DELETE /api/v1/keys/x": true,
			"GET /api/v1/status": false, "GET /api/v1/agents": false, "HEAD /api/v1/keys": true,
		} {
			got := as(t, h, tt.p, request, "", tt.lines...)
			if refused := got.code == 403; refused != (denied && !tt.ok) {
				t.Errorf("%s: %s = %d %s", name, request, got.code, got.body)
			}
			if got.code == 403 && request == "GET /api/v1/keys" {
				got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
			}
		}
	}
	got := send(h, httptest.NewRequest("GET", "/api/v1/keys", nil))
	got.failure(t, 401, "UNAUTHENTICATED", "UNAUTHENTICATED")
}

// TestNoAdministratorWithoutAKey checks that administrators need a key as soon as keys
// exist.
func TestNoAdministratorWithoutAKey(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	got := as(t, h, local, "GET /api/v1/keys", "", "From: 127.0.0.1:5", "Host: localhost")
	got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	if got := as(t, h, boss, "GET /api/v1/keys", ""); got.code != 200 {
		t.Errorf("an administrator with a key: %d %s", got.code, got.body)
	}
}

// TestPagesFromElsewhere checks that a web page in a browser on the hub's machine cannot create
// keys.
func TestPagesFromElsewhere(t *testing.T) {
	t.Parallel()
	here := []string{"From: 127.0.0.1:5", "Host: localhost:4100"}
	for name, tt := range map[string]struct {
		line string
		ok   bool
	}{
		"own page":         {"Origin: http://localhost:4100", true},
		"own, by fetch":    {"Sec-Fetch-Site: same-origin", true},
		"another page":     {"Origin: http://evil.example", false},
		"another port":     {"Origin: http://localhost:8080", false},
		"sandboxed page":   {"Origin: null", false},
		"another by fetch": {"Sec-Fetch-Site: cross-site", false},
		"no browser":       {"User-Agent: parley", true},
	} {
		for request, body := range map[string]string{"POST /api/v1/keys": `{"roles":["admin"]}`, "DELETE /api/v1/keys/x": ""} {
			ring := &auth.Keyring{Store: new(memory)}
			if err := ring.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			h := &adminapi.Handler{Hub: newHub(), Keys: ring}
			got := as(t, h, local, request, body, append(here, tt.line)...)
			if refused := got.code == 403; refused == tt.ok {
				t.Errorf("%s: %s = %d %s", name, request, got.code, got.body)
			}
			if added := len(ring.List()) > 0; added != (tt.ok && strings.HasPrefix(request, "POST")) {
				t.Errorf("%s: %s: key added %t", name, request, added)
			}
		}
	}
}
