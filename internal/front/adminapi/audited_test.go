package adminapi_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/trust"
)

// auditor records calls as text.
type auditor struct {
	entries []string
	// full and broken are the errors of Asked and Ended.
	full, broken error
	keys         func() int
}

func (a *auditor) note(what string, r *http.Request, d *adminapi.AuditEvent) {
	words := fmt.Sprintf("%s %s %s %s/%s task=%s agent=%s", what, auth.PrincipalFrom(r.Context()).ID, d.Action, d.Subject.Kind, d.Subject.ID, d.Subject.Task, d.Subject.Agent)
	if d.Outcome != "" {
		words += fmt.Sprintf(" %s %s", d.Outcome, d.Reason)
	}
	for _, f := range d.Detail {
		words += " " + f.Name + "=" + f.Value
	}
	if a.keys != nil {
		words += fmt.Sprintf(" (%d keys)", a.keys())
	}
	a.entries = append(a.entries, strings.TrimSpace(words))
}

func (a *auditor) Asked(r *http.Request, d *adminapi.AuditEvent) error {
	a.note("asked", r, d)
	return a.full
}

func (a *auditor) Ended(r *http.Request, d *adminapi.AuditEvent) error {
	a.note("ended", r, d)
	return a.broken
}

func (a *auditor) Refused(r *http.Request, d *adminapi.AuditEvent) { a.note("refused", r, d) }

var errFull = &apierror.Error{Err: apierror.ErrUnavailable, Message: "the hub cannot write its audit log now: the disk is full"}

// TestChangesAreNamed requests each change of the API; none is made, because the log is full.
func TestChangesAreNamed(t *testing.T) {
	t.Parallel()
	h, ring, _ := keyed(t)
	own := ring.List()[0].ID
	h.Directory, h.Push, h.Inbox, h.Trust = new(directory.Directory), new(adminapi.Push), new(inbox.Inbox), new(trust.Registry)
	h.Control, h.Dead, h.Memory = new(operator.Operator), new(queue.DeadLetters), new(adminapi.Memory)
	for _, tt := range []struct{ request, want string }{
		{"POST keys", "key.add key/ task= agent="},
		{"DELETE keys/" + own, "key.revoke key/" + own + " task= agent="},
		{"DELETE keys/pk_abc_this-is-the-text-of-a-key", "key.revoke key/ task= agent="},
		{"POST agents", "agent.register agent/ task= agent="},
		{"PUT agents/a", "agent.register agent/a task= agent=a"},
		{"DELETE agents/a", "agent.remove agent/a task= agent=a"},
		{"POST agents/a/probe", "agent.probe agent/a task= agent=a what=probe"},
		{"POST agents/a/refresh", "agent.probe agent/a task= agent=a what=refresh"},
		{"POST agents/a/pause", "agent.pause agent/a task= agent=a what=pause"},
		{"POST agents/a/resume", "agent.resume agent/a task= agent=a what=resume"},
		{"POST tasks/t/1/redrive", "task.operate task/t/1 task=t/1 agent= what=redrive"},
		{"POST tasks/t/fail", "task.operate task/t task=t agent= what=fail"},
		{"POST tasks/t/reassign", "task.operate task/t task=t agent= what=reassign"},
		{"POST trust", "trust.change principal/ task= agent="},
		{"POST inbox", "inbox.put item/ task= agent="},
		{"POST inbox/i/answer", "inbox.settle item/i task= agent= what=answer"},
		{"POST inbox/i/approve", "inbox.settle item/i task= agent= what=approve"},
		{"POST inbox/i/refuse", "inbox.settle item/i task= agent= what=refuse"},
		{"POST push/t/redeliver", "push.redeliver task/t task=t agent= what=redeliver"},
		{"DELETE dead/l", "dead.drop letter/l task= agent="},
		{"POST dead/l/replay", "dead.replay letter/l task= agent= what=replay"},
		{"PUT memory/note?key=a%2Fb", "memory.set note/a/b task= agent="},
		{"DELETE memory/note?key=a", "memory.delete note/a task= agent="},
		{"DELETE memory/session?id=s", "memory.end note/ task= agent="},
	} {
		a := &auditor{full: errFull}
		h.Audit = a
		method, path, _ := strings.Cut(tt.request, " ")
		got := as(t, h, boss, method+" /api/v1/"+path, "{}")
		if got.code != http.StatusServiceUnavailable || !strings.Contains(got.body, "the disk is full") {
			t.Errorf("%s with a full log = %d %s, want 503 that says so", tt.request, got.code, got.body)
		}
		if diff := cmp.Diff([]string{"asked boss " + tt.want}, a.entries); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.request, diff)
		}
	}
}

// TestChangesAreWrittenDown makes changes: each is recorded before it is made, and its outcome
// after.
func TestChangesAreWrittenDown(t *testing.T) {
	t.Parallel()
	h, ring, _ := keyed(t)
	a := &auditor{keys: func() int { return len(ring.List()) }}
	h.Audit = a
	first := as(t, h, boss, "POST /api/v1/keys", `{"agentId":"ann","roles":["x","y"]}`)
	made := first.decode(t)
	id, text := fmt.Sprint(made["id"]), fmt.Sprint(made["key"])
	as(t, h, boss, "DELETE /api/v1/keys/"+id, "")
	as(t, h, boss, "DELETE /api/v1/keys/"+text, "")
	as(t, h, clerk, "DELETE /api/v1/keys/"+id, "")
	as(t, h, clerk, "GET /api/v1/keys", "")
	as(t, h, boss, "GET /api/v1/keys", "")
	want := []string{
		"asked boss key.add key/ task= agent= (1 keys)",
		"ended boss key.add key/" + id + " task= agent= ok  principal=ann roles=x y state=active expires= (2 keys)",
		"asked boss key.revoke key/" + id + " task= agent= (2 keys)",
		"ended boss key.revoke key/" + id + " task= agent= ok  principal=ann roles=x y state=revoked expires= (2 keys)",
		"asked boss key.revoke key/ task= agent= (2 keys)",
		"ended boss key.revoke key/ task= agent= refused KEY_NOT_FOUND (2 keys)",
		"refused clerk admin.refused key/" + id + " task= agent= refused needs an administrator action=key.revoke (2 keys)",
		"refused clerk admin.refused key/ task= agent= refused needs an administrator action=read (2 keys)",
	}
	for i := range want {
		want[i] = strings.Replace(want[i], "principal=ann", "principal=ann owner=", 1)
	}
	if diff := cmp.Diff(want, a.entries); diff != "" {
		t.Errorf("written down (-want +got):\n%s", diff)
	}
	if said := strings.Join(a.entries, "\n"); strings.Contains(said, text) {
		t.Errorf("the text of a key is written down:\n%s", said)
	}

	// A caller that does not get the outcome does not get the key either.
	a.broken = errFull
	got := as(t, h, boss, "POST /api/v1/keys", "{}")
	if got.code != http.StatusServiceUnavailable || strings.Contains(got.body, "pk_") {
		t.Errorf("POST with a log that is full after the change = %d %s, want 503 without the key", got.code, got.body)
	}
}

// TestAuditPages reads the log over the API.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	dir := filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(audit.Options{Dir: dir, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i := range 7 {
		if err := log.Append(&audit.Record{Action: audit.KeyAdd, Subject: audit.Subject{Kind: "key", ID: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	h.AuditLog = &adminapi.AuditLog{Log: log, Dir: dir}
	var ids []string
	pages := 0
	for after := uint64(0); ; pages++ {
		got := as(t, h, boss, fmt.Sprintf("GET /api/v1/audit?action=key&limit=3&after=%d", after), "")
		var p adminapi.AuditPage
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.code != http.StatusOK || p.Head != log.Head() || p.Log != log.ID() {
			t.Fatalf("GET = %d %s, %v", got.code, got.body, err)
		}
		for _, line := range p.Entries {
			e, err := audit.Parse(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			ids = append(ids, e.Subject.ID)
		}
		if after = p.Next; after == 0 {
			break
		}
	}
	if got := strings.Join(ids, " "); got != "0 1 2 3 4 5 6" || pages != 2 {
		t.Errorf("read %s in %d pages", got, pages+1)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "after=-1", "since=yesterday", "until=1"} {
		name, _, _ := strings.Cut(bad, "=")
		if got := as(t, h, boss, "GET /api/v1/audit?"+bad, ""); got.code != http.StatusBadRequest || !strings.Contains(got.body, name+":") {
			t.Errorf("GET with %s = %d %s, want 400 that names it", bad, got.code, got.body)
		}
	}
	verified := as(t, h, boss, "GET /api/v1/audit/verify", "")
	var report adminjson.AuditReport
	if err := json.Unmarshal([]byte(verified.body), &report); err != nil || len(report.Problems) != 0 || report.Last != log.Head().Seq || report.Log != log.ID() {
		t.Errorf("verify = %d %s, %v", verified.code, verified.body, err)
	}
	refused := as(t, h, clerk, "GET /api/v1/audit/verify", "")
	refused.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the log: %q, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, bytes.Replace(b, []byte(`"id":"3"`), []byte(`"id":"9"`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := as(t, h, boss, "GET /api/v1/audit/verify", ""); !strings.Contains(got.body, "entry 5") {
		t.Errorf("verify of a changed log = %d %s", got.code, got.body)
	}
	got := as(t, h, clerk, "GET /api/v1/audit", "")
	got.failure(t, 403, "PERMISSION_DENIED", "UNAUTHORIZED")
	h = &adminapi.Handler{Hub: h.Hub, Keys: h.Keys}
	if got := as(t, h, boss, "GET /api/v1/audit", ""); got.code != http.StatusNotFound {
		t.Errorf("GET without a log = %d", got.code)
	}
}
