package adminapi_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	notes "github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

var (
	ann = &auth.Principal{ID: "ann"}
	bob = &auth.Principal{ID: "bob"}
)

const isJSON = "Content-Type: application/json"

// remembering returns a handler with an empty memory.
func remembering() *adminapi.Handler {
	n := new(notes.Notes)
	return &adminapi.Handler{Hub: newHub(), Memory: &adminapi.Memory{
		Notes: n, Turns: new(notes.Turns), Sessions: recorder.New(recorder.Config{Notes: n, Store: new(memstore.Store)}),
	}}
}

// setNote sets a note and fails the test on an error.
func setNote(t *testing.T, h *adminapi.Handler, p *auth.Principal, key, body string) {
	t.Helper()
	if a := as(t, h, p, "PUT /api/v1/memory/note?key="+url.QueryEscape(key), body, isJSON); a.code != 200 {
		t.Fatalf("PUT %s = %d %s", key, a.code, a.body)
	}
}

// TestMemory checks that callers without a role set, find and delete notes of their own.
func TestMemory(t *testing.T) {
	t.Parallel()
	h := remembering()
	setNote(t, h, ann, "session/s 1/plan", `{"value":"meet on Tuesday","category":"plan","tags":["meeting"],"ttl":"2h"}`)
	setNote(t, h, ann, "session/s 1/x", `{"value":""}`)
	setNote(t, h, bob, "session/s 1/plan", `{"value":"another's"}`)

	got := as(t, h, ann, "GET /api/v1/memory/note?key=session/s+1/plan", "")
	n := got.decode(t)
	if got.code != 200 || n["value"] != "meet on Tuesday" || n["category"] != "plan" || fmt.Sprint(n["tags"]) != "[meeting]" || n["size"] != 15.0 {
		t.Errorf("GET = %d %s", got.code, got.body)
	}
	ends, err := time.Parse(time.RFC3339, fmt.Sprint(n["expiresAt"]))
	if left := time.Until(ends); err != nil || left < 119*time.Minute || left > 2*time.Hour {
		t.Errorf("the note ends in %v, %v, want two hours", left, err)
	}
	got = as(t, h, ann, "GET /api/v1/memory?prefix=session/&limit=1", "")
	list := got.decode(t)
	if all, _ := list["notes"].([]any); len(all) != 1 || list["after"] != "session/s 1/plan" || strings.Contains(got.body, `"value"`) {
		t.Errorf("the first page = %d %s", got.code, got.body)
	}
	got = as(t, h, ann, "GET /api/v1/memory?after=session/s+1/plan", "")
	if !strings.Contains(got.body, `"key":"session/s 1/x"`) || strings.Contains(got.body, "Tuesday") {
		t.Errorf("the second page = %d %s", got.code, got.body)
	}
	got = as(t, h, ann, "GET /api/v1/memory/search?q=tuesday&tag=MEETING&category=pl&namespace=session/s+1", "")
	if !strings.Contains(got.body, `"preview":"meet on Tuesday"`) || !strings.Contains(got.body, `"score":1`) || strings.Contains(got.body, "another") {
		t.Errorf("search = %d %s", got.code, got.body)
	}
	if got = as(t, h, ann, "DELETE /api/v1/memory/note?key=session/s+1/plan", ""); got.code != 200 || got.body != `{"deleted":1}` {
		t.Errorf("DELETE = %d %s", got.code, got.body)
	}
	got = as(t, h, ann, "GET /api/v1/memory/note?key=session/s+1/plan", "")
	got.failure(t, 404, "NOT_FOUND", "NOTE_NOT_FOUND")
	if got = as(t, h, ann, "DELETE /api/v1/memory/session?id=s+1", ""); got.code != 200 {
		t.Errorf("DELETE of the session = %d %s", got.code, got.body)
	}
	if got = as(t, h, ann, "DELETE /api/v1/memory/note?prefix=session/s%25201/", ""); got.code != 200 || got.body != `{"deleted":0}` {
		t.Errorf("DELETE of the rest = %d %s", got.code, got.body)
	}
	if got = as(t, h, bob, "GET /api/v1/memory/note?key=session/s+1/plan", ""); !strings.Contains(got.body, "another's") {
		t.Errorf("the other caller's note = %d %s", got.code, got.body)
	}
	if got = as(t, h, ann, "GET /api/v1/memory/conversation?context=none", ""); got.body != `{"session":"a2a-inbound/none","turns":[]}` {
		t.Errorf("a conversation of nobody = %d %s", got.code, got.body)
	}
}

// TestMemoryRefuses checks that invalid notes are refused, with a helpful message.
func TestMemoryRefuses(t *testing.T) {
	t.Parallel()
	h := remembering()
	for _, c := range []struct {
		request, body, want string
		code                int
	}{
		{"PUT /api/v1/memory/note?key=a/../b", `{"value":"x"}`, "write the whole key", 400},
		{"PUT /api/v1/memory/note", `{"value":"x"}`, "name it like", 400},
		{"PUT /api/v1/memory/note?key=" + strings.Repeat("x", 1<<20), `{"value":"x"}`, "the maximum is", 400},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"value":"` + strings.Repeat("x", 65<<10) + `"}`, "shorten it", 413},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"value":"` + strings.Repeat("x", 9<<20) + `"}`, "larger than", 413},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"value":"x","ttl":"soon"}`, "5m", 400},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"value":"x","ttl":"-1h"}`, "5m", 400},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"value":"x","ttl":"9999h"}`, "the maximum", 400},
		{"PUT /api/v1/memory/note?key=a/b/c", `{"owner":"bob"}`, "not known", 400},
		{"GET /api/v1/memory?limit=0", "", "number of at least 1", 400},
		{"GET /api/v1/memory/search?limit=x", "", "number of at least 1", 400},
		{"GET /api/v1/memory?prefix=../x", "", "write the whole key", 400},
		{"GET /api/v1/memory/search?namespace=a//b", "", "empty segment", 400},
		{"DELETE /api/v1/memory/session", "", "no name", 400},
		{"DELETE /api/v1/memory/note", "", "it is empty", 400},
	} {
		a := as(t, h, ann, c.request, c.body, isJSON)
		if a.code != c.code || !strings.Contains(a.body, c.want) || len(a.body) > 2000 {
			t.Errorf("%.60s = %d %.300s, want %d with %q", c.request, a.code, a.body, c.code, c.want)
		}
	}
	if a := as(t, h, ann, "PUT /api/v1/memory/note?key=a/b/c", `{"value":"x"}`, isJSON, "Origin: https://evil.example"); a.code != 403 {
		t.Errorf("a page from elsewhere sets a note: %d %s", a.code, a.body)
	}
	if a := as(t, &adminapi.Handler{Hub: newHub()}, ann, "GET /api/v1/memory", ""); a.code != 404 {
		t.Errorf("without memory: %d %s", a.code, a.body)
	}
}
