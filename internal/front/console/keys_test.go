package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// keyText matches the text of a new key on a page.
var keyText = regexp.MustCompile(`pk_([a-z0-9]+)_[\w-]{43}`)

// TestKeys creates a key, uses it, and revokes it: its streams end, and its sign-in with them.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true)
	ann, root := w.as(annsKey), w.as(rootKey)
	for _, a := range []page{ann.get("/console/keys"), ann.post("/console/keys", "verb", "add", "agent", "eve", "roles", "admin")} {
		if a.code != 403 || strings.Contains(a.body, "pk_") {
			t.Errorf("keys for a caller without a role = %d %s", a.code, a.body)
		}
	}
	wants(t, root.get("/console/keys"), 200, "ann", "bob", "in the configuration", "<title>Keys · Parley</title>")
	wants(t, root.post("/console/keys", "verb", "add", "life", "soon", "agent", "eve"), 400, `role="alert"`, "expiresIn", `value="eve"`)
	wants(t, root.post("/console/keys", "verb", "add", "worker", "w", "agent", "eve"), 400, `role="alert"`, "busAgent")
	wants(t, root.post("/console/keys", "verb", "burn"), 400, "Choose to create")
	made := root.post("/console/keys", "verb", "add", "agent", "eve", "name", "Eve", "owner", "acme, beta", "roles", "partner, desk", "life", "24h")
	wants(t, made, 200, "Copy it now", "eve", "acme, beta", "partner", "desk", "not yet")
	text := keyText.FindStringSubmatch(made.body)
	if text == nil {
		t.Fatalf("no key in %s", made.body)
	}
	eve := w.as(text[0])
	id := eve.send("interview", "start")
	stream, err := eve.client.Get(w.url + "/console/task/events?id=" + id)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("stream = %v, %v", stream, err)
	}
	defer stream.Body.Close()
	list := root.get("/console/keys?find=EVE")
	wants(t, list, 200, "1 key.", "owner=org%3Aacme", "actor=eve", "Revoke this key?")
	if strings.Contains(list.body, text[0]) || strings.Contains(list.body, "not yet") {
		t.Error("the page shows the key again, or not that it was used")
	}
	if k := w.keys.List(); k[len(k)-1].ExpiresAt.Sub(k[len(k)-1].CreatedAt) != 24*time.Hour {
		t.Errorf("the key is %+v, want one that ends in a day", k[len(k)-1])
	}
	forged := *root
	forged.token = "x"
	wants(t, forged.post("/console/keys", "verb", "revoke", "id", text[1]), 403, "Nothing was changed")
	wants(t, root.post("/console/keys", "verb", "revoke", "id", "none"), 404, "no such key")
	wants(t, root.post("/console/keys", "verb", "revoke", "id", text[1], "find", "eve"), 200, "No matching keys")
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // it ends now, and not after five minutes
		t.Logf("the stream ended with %v", err)
	}
	if a := eve.get("/console/tasks"); !strings.Contains(a.path, "/console/sign-in") {
		t.Errorf("with a revoked key, the page of tasks = %d at %s", a.code, a.path)
	}
	wants(t, root.get("/console/keys?find=eve&all=1"), 200, "revoked")
	wants(t, root.get("/console/audit?action=key"), 200, "key.add", "key.revoke", text[1], "partner desk")
}

// TestManyKeys lists two thousand keys in pages, and a hostile text in every field of one.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	w := &world{t: t}
	for i := range 2000 {
		k, _ := auth.NewKey(auth.Principal{ID: fmt.Sprintf("caller-%04d", i)}, time.Now())
		w.stored = append(w.stored, *k)
	}
	w.start(true)
	root := w.as(rootKey)
	a := root.get("/console/keys?find=caller")
	wants(t, a, 200, "2000 keys", "caller-1999", "page=100")
	if n := strings.Count(a.body, "<tr>"); n != 101 {
		t.Errorf("a page has %d rows, want 100 and the head", n)
	}
	wants(t, root.get("/console/keys?find=caller&page=1900"), 200, "caller-0000")
	wants(t, root.get("/console/keys?find=caller&page=99999999999999999999"), 200, "caller-1999")
	wants(t, root.get("/console/keys?find=caller&page=90000"), 200, "No matching keys")
	w = newWorld(t, true)
	root = w.as(rootKey)
	for _, s := range hostiletest.Texts {
		check(t, fmt.Sprintf("%q in the filter of keys", s), root.post("/console/keys?find="+url.QueryEscape(s), "verb", "add", "agent", s, "name", s, "owner", s, "roles", s, "life", s).body)
		k, _ := auth.NewKey(auth.Principal{ID: s, DisplayName: s, Org: s, Roles: []string{s}}, time.Now())
		_ = w.keys.Add(t.Context(), k) // the Keyring refuses some texts
	}
	check(t, "keys", root.get("/console/keys").body)
}
