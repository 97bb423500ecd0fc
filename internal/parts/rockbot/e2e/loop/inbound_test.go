package loop

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// The keys of the owner and of a caller.
const (
	ownerKey = "owner-key-0123456789"
	aliceKey = "alice-calls-bob-0123"
)

const inboundConfig = `
auth:
  api_keys:
    ` + ownerKey + `: {agent_id: me, owner: local, roles: [admin]}
    ` + aliceKey + `: {agent_id: alice, display_name: Alice}
trust: {summarizer: brief, gated: [echo]}
memory: {outcomes: [echo]}
front_desk: {serve: true, hours: "09:00-17:00"}
agents:
  - name: brief
    command: [sh, -c, "printf 'SUMMARY: '; head -c 400"]
`

// inbound is a hub with an external caller.
type inbound struct {
	*testing.T
	hub *hubtest.Hub
}

// send sends a message of Alice to an agent and returns the task.
func (w *inbound) send(agent, text, contextID string) *a2a.Task {
	w.Helper()
	m := map[string]any{"messageId": a2a.NewMessageID(), "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if contextID != "" {
		m["contextId"] = contextID
	}
	var got struct{ Task *a2a.Task }
	w.call(hubtest.Request{URL: "/v1/a2a/" + agent + "/message:send", Body: asJSON(w.T, map[string]any{"message": m})}, aliceKey, &got)
	if got.Task == nil {
		w.Fatalf("%s has answered %q without a task", agent, text)
	}
	return got.Task
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (w *inbound) call(r hubtest.Request, key string, into any) {
	w.Helper()
	r.URL = w.hub.URL() + r.URL
	r.Header = []string{"X-Api-Key", key, "A2A-Version", "1.0"}
	if err := hubtest.Call(w.Context(), r, into); err != nil {
		w.Fatal(err)
	}
}

func (w *inbound) parley(args ...string) string {
	w.Helper()
	out, err := w.hub.Parley(w.Context(), append(args, "--api-key", ownerKey)...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// note waits for a note of the owner, and returns it.
func (w *inbound) note(key string) map[string]any {
	w.Helper()
	w.parley("memory", "watch", key, "--limit", "1")
	var n map[string]any
	w.call(hubtest.Request{URL: "/api/v1/memory/note?key=" + url.QueryEscape(key)}, ownerKey, &n)
	return n
}

// notices returns the texts of the notices in the inbox.
func (w *inbound) notices() []string {
	w.Helper()
	var got struct{ Items []item }
	w.call(hubtest.Request{URL: "/api/v1/inbox?kind=notice"}, ownerKey, &got)
	var texts []string
	for _, it := range got.Items {
		texts = append(texts, it.Text)
	}
	return texts
}

// TestInbound: the treatment of a caller by its trust level, and the records for the owner.
func TestInbound(t *testing.T) {
	t.Parallel()
	w := &inbound{t, hubtest.Start(t, hubtest.Options{Config: inboundConfig})}
	has := func(text string) func(string) bool { return func(s string) bool { return strings.Contains(s, text) } }
	t.Run("C19", func(t *testing.T) {
		task := w.send("echo", "a secret plan", "")
		if task.Status.State != a2a.TaskStateRejected || strings.Contains(asJSON(t, task.Artifacts), "a secret plan") {
			t.Errorf("at Observe the task is %s with %s", task.Status.State, asJSON(t, task.Artifacts))
		}
		if all := w.notices(); !slices.ContainsFunc(all, has("SUMMARY: ")) {
			t.Errorf("the notices are %q", all)
		}
		if n := w.note("a2a-inbox/" + string(task.ID) + "/summary"); !strings.Contains(fmt.Sprint(n["value"]), "SUMMARY: ") {
			t.Errorf("the summary is %v", n)
		}
	})
	w.parley("trust", "set", "alice", "--level", "act", "--approve", "ECHO", "--approve", "Notify-User", "--approve", "negotiate-meeting", "--approve", "query-availability")
	t.Run("C20 C22", func(t *testing.T) {
		began := time.Now()
		task := w.send("echo", "please water the tulips", "")
		if task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("an approved skill is %s", task.Status.State)
		}
		n := w.note("session/primary/a2a-outcomes/echo/" + task.ContextID)
		kept := moment(t, n["expiresAt"]).Sub(moment(t, n["updatedAt"]))
		text, tags := fmt.Sprint(n["value"]), fmt.Sprint(n["tags"])
		if kept != 8*time.Hour || n["category"] != "a2a-outcome" || !strings.Contains(tags, "Alice") || !strings.Contains(tags, "tulips") {
			t.Errorf("the outcome is kept for %v: %v", kept, n)
		}
		if !strings.Contains(text, "Alice") || !strings.Contains(text, began.UTC().Format("2006-01-02")) || !strings.Contains(text, "tulips") {
			t.Errorf("the outcome is %q", text)
		}
	})
	t.Run("C23 notify-user", func(t *testing.T) {
		if task := w.send("notify-user", "remember the milk", ""); task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the task is %s", task.Status.State)
		}
		if all := w.notices(); !slices.ContainsFunc(all, has("remember the milk")) {
			t.Errorf("the notices are %q", all)
		}
	})
	t.Run("C23 query-availability", func(t *testing.T) {
		got := answer(w.send("query-availability", "is the person there?", ""))
		if !strings.Contains(got, "available") && !strings.Contains(got, "busy") && !strings.Contains(got, "away") {
			t.Errorf("the answer is %q", got)
		}
	})
	t.Run("C18 C23 negotiate-meeting", func(t *testing.T) { negotiate(t, w) })
}

// negotiate agrees on a meeting in several messages of one context, across a kill. The
// conversation has all of them, and the outcome is stored once the negotiation has ended.
func negotiate(t *testing.T, w *inbound) {
	day := time.Now().UTC().AddDate(0, 0, 7)
	for day.Weekday() != time.Wednesday {
		day = day.AddDate(0, 0, 1)
	}
	first := w.send("negotiate-meeting", "shall we meet?", "")
	vague := w.send("negotiate-meeting", "Tuesday 10:00", first.ContextID)
	if first.Status.State != a2a.TaskStateInputRequired || vague.Status.State != a2a.TaskStateInputRequired {
		t.Errorf("without a date the task is %s, then %s", first.Status.State, vague.Status.State)
	}
	w.hub.Restart()
	last := w.send("negotiate-meeting", day.Format("2006-01-02")+" 10:00", first.ContextID)
	if got := answer(last); !strings.Contains(got, "completed: Agreed: "+day.Format("2006-01-02")+" 10:00") {
		t.Errorf("the last answer is %q", got)
	}
	var talk struct {
		Session string
		Turns   []struct{ Role, Name, Text string }
	}
	w.call(hubtest.Request{URL: "/api/v1/memory/conversation?context=" + first.ContextID}, aliceKey, &talk)
	var text []string
	for _, turn := range talk.Turns {
		text = append(text, turn.Role+" "+turn.Name+": "+turn.Text)
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{"caller Alice: shall we meet?", "caller Alice: Tuesday 10:00", "agent negotiate-meeting: Agreed"} {
		if !strings.Contains(all, want) {
			t.Errorf("the conversation has no %q:\n%s", want, all)
		}
	}
	if talk.Session != "a2a-inbound/"+first.ContextID {
		t.Errorf("the session is %q", talk.Session)
	}
	if n := w.note("session/primary/a2a-outcomes/negotiate-meeting/" + first.ContextID); !strings.Contains(fmt.Sprint(n["value"]), "Alice") {
		t.Errorf("the outcome is %v", n)
	}
}
