package httpfront_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// noStore accepts keys and discards them.
type noStore struct{}

func (noStore) Keys(context.Context) ([]auth.Key, error) { return nil, nil }
func (noStore) PutKey(context.Context, *auth.Key) error  { return nil }

// startKeyed serves the agents of most tests for callers with keys.
func startKeyed(t testing.TB) (*hub, *auth.Keyring) {
	t.Helper()
	ring := &auth.Keyring{Store: noStore{}}
	if err := ring.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := startEngine(t, everyone()...)
	return startHub(t, httpfront.Config{Engine: e, Auth: ring, API: &adminapi.Handler{Hub: e, Keys: ring}}), ring
}

func newKey(t testing.TB, ring *auth.Keyring, p auth.Principal) (*auth.Key, string) {
	t.Helper()
	k, text := auth.NewKey(p, time.Now())
	if err := ring.Add(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k, text
}

// TestKeysAreRequired checks that a caller with a missing or wrong key gets the code and the
// challenge that clients expect, before any check of agents and tasks.
func TestKeysAreRequired(t *testing.T) {
	t.Parallel()
	h, ring := startKeyed(t)
	if got := h.do("POST", "/a2a", rpc("ListTasks", "{}"), v1); got.code != 200 {
		t.Fatalf("before the first key = %d %s", got.code, got.body)
	}
	newKey(t, ring, auth.Principal{ID: "ann"})
	const words = "Authentication required: provide X-Api-Key header or a bearer token"
	challenges := []string{`Bearer realm="parley"`, `ApiKey realm="parley", header="X-Api-Key"`}
	for _, tt := range []struct {
		method, path, body, header string
		code                       float64
	}{
		{"POST", "/", rpc("ListTasks", "{}"), v1, -32000},
		{"POST", "/a2a/nobody", rpc("NoMethod", "{}"), "X-Api-Key: wrong", -32000},
		{"POST", "/a2a", "{", "Authorization: Basic eDp5", -32000},
		{"GET", "/v1/a2a/tasks/t", "", v1, 401},
		{"POST", "/v1/a2a/message:stream", message("x"), "Authorization: Bearer", 401},
		{"GET", "/api/v1/status", "", v1, 401},
	} {
		got := h.do(tt.method, tt.path, tt.body, tt.header)
		var body struct {
			Error struct {
				Code    float64
				Message string
			}
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatal(err)
		}
		if reason, _ := got.failure(t); got.code != 401 || reason != "UNAUTHENTICATED" || body.Error.Code != tt.code || body.Error.Message != words {
			t.Errorf("%s %s = %d %s, want 401 with %v and the words", tt.method, tt.path, got.code, got.body, tt.code)
		}
		if diff := cmp.Diff(challenges, got.header.Values("WWW-Authenticate")); diff != "" {
			t.Errorf("%s %s: challenges mismatch (-want +got):\n%s", tt.method, tt.path, diff)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/.well-known/agent-card.json"} {
		if got := h.do("GET", path, ""); got.code != 200 {
			t.Errorf("GET %s = %d, want 200 without a key", path, got.code)
		}
	}
}

// TestKeysOnEverySurface checks that a key authorizes every surface in either header, from its
// creation to its revocation.
func TestKeysOnEverySurface(t *testing.T) {
	t.Parallel()
	h, ring := startKeyed(t)
	admin, boss := newKey(t, ring, auth.Principal{ID: "boss", Roles: []string{auth.RoleAdmin}})
	got := h.do("POST", "/api/v1/keys", `{"agentId":"ann"}`, "X-Api-Key: "+boss)
	var made adminapi.MadeKey
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.code != 200 {
		t.Fatalf("make a key = %d %s", got.code, got.body)
	}
	for i, header := range []string{"X-Api-Key: " + made.Text, "authorization: bearer " + made.Text} {
		for _, req := range [][3]string{
			{"POST", "/", rpc("SendMessage", message("hi"))},
			{"POST", "/a2a/echo", rpc("SendStreamingMessage", message("hi"))},
			{"POST", "/v1/a2a/message:send", message("hi")},
			{"POST", "/v1/a2a/echo/message:stream", message("hi")},
			{"GET", "/api/v1/agents", ""},
		} {
			if got := h.do(req[0], req[1], req[2], v1, header); got.code != 200 || strings.Contains(got.body, `"error"`) {
				t.Errorf("%s %s with %.15s = %d %s", req[0], req[1], header, got.code, got.body)
			}
		}
		got := h.do("GET", "/v1/a2a/tasks", "", header)
		if want := fmt.Sprintf(`"totalSize":%d`, 4*(i+1)); !strings.Contains(got.body, want) {
			t.Errorf("tasks of ann = %s, want %s", got.body, want)
		}
	}
	if got := h.do("GET", "/v1/a2a/tasks", "", "X-Api-Key: "+boss); !strings.Contains(got.body, `"totalSize":0`) {
		t.Errorf("tasks of boss = %s, want none", got.body)
	}
	if got := h.do("DELETE", "/api/v1/keys/"+made.ID, "", "X-Api-Key: "+made.Text); got.code != 403 {
		t.Errorf("revoke without the role = %d %s", got.code, got.body)
	}
	if got := h.do("DELETE", "/api/v1/keys/"+made.ID, "", "X-Api-Key: "+boss); got.code != 200 {
		t.Errorf("revoke = %d %s", got.code, got.body)
	}
	if got := h.do("POST", "/", rpc("ListTasks", "{}"), v1, "X-Api-Key: "+made.Text); got.code != 401 {
		t.Errorf("a revoked key = %d %s", got.code, got.body)
	}
	if _, err := ring.Revoke(t.Context(), admin.ID, 0); err != nil {
		t.Fatal(err)
	}
	if got := h.do("POST", "/", rpc("ListTasks", "{}"), v1); got.code != 401 {
		t.Errorf("after the last key was revoked = %d %s", got.code, got.body)
	}
}
