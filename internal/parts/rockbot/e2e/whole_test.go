package rockbot_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// peersTrust is the trust file of a deployment: Primary may act with three skills.
const peersTrust = `[{"agentId": "rockbot/Primary", "level": 4, "approvedSkills": ["notify-user", "query-availability", "negotiate-meeting"]}]`

// TestServedWhole: on RockBot's exchange the hub is one agent, like RockBot's own, with the skills
// of all its agents. It performs each by the requested skill and the trust in the caller, and
// continues a negotiation by its context after a kill.
func TestServedWhole(t *testing.T) {
	t.Parallel()
	at := rabbittest.Shared(t).VHost(t)
	primary := rb.StartCaller(t, at, "Primary")
	h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf(`
bus: {url: "off"}
rockbot: {url: %q, name: RockBot, serve: [RockBot]}
front_desk: {serve: true, hours: "09:00-17:00"}
trust: {file: agent-trust.json, unapproved: observe}
agents:
  - {name: shout, command: tr a-z A-Z, skills: [{id: shout, name: Shout}]}
  - {name: private, command: [cat], trust: gated, skills: [{id: private}]}
`, at)})
	if err := os.WriteFile(filepath.Join(h.Dir(), "agent-trust.json"), []byte(peersTrust), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	card := primary.Card()
	var skills []string
	for i := range card.Skills {
		skills = append(skills, rb.Val(card.Skills[i].ID))
	}
	for _, id := range []string{"shout", "private", "notify-user", "query-availability", "negotiate-meeting"} {
		if rb.Val(card.AgentName) != "RockBot" || card.Envelope.Source != "RockBot" || !slices.Contains(skills, id) {
			t.Errorf("%s announces %s with the skills %q, want %s", card.Envelope.Source, rb.Val(card.AgentName), skills, id)
		}
	}
	ask := func(skill, text string) *rb.Reply {
		t.Helper()
		r := request(text)
		r.Skill, r.ContextID = &skill, rb.Ptr("with-"+skill)
		id := primary.Invoke("RockBot", r)
		got := primary.Reply()
		for got.Result != nil && rb.Val(got.Result.TaskID) != id { // repeated after the kill
			got = primary.Reply()
		}
		return got
	}
	type outcome struct {
		State rb.State
		Text  string
	}
	want := func(skill, text string, want outcome) {
		t.Helper()
		r := ask(skill, text).Result
		if r == nil || r.Message == nil {
			t.Fatalf("%s: %s is answered with %+v", skill, text, r)
		}
		got := outcome{r.State, r.Message.Text()}
		got.Text = got.Text[:min(len(got.Text), len(want.Text))]
		if diff := cmp.Diff(want, got); diff != "" || rb.Val(r.ContextID) != "with-"+skill {
			t.Errorf("%s: %s in %s (-want +got):\n%s", skill, text, rb.Val(r.ContextID), diff)
		}
	}
	day := time.Now().UTC().AddDate(0, 0, 7)
	for day.Weekday() != time.Wednesday {
		day = day.AddDate(0, 0, 1)
	}
	slot := day.Format("2006-01-02") + " 10:00"
	want("SHOUT", "hello", outcome{rb.Completed, "HELLO"})
	want("general", "hello", outcome{rb.Completed, "HELLO"}) // no particular skill: the default agent
	want("notify-user", "milk", outcome{State: rb.Completed})
	want("query-availability", "now?", outcome{State: rb.Completed})
	want("private", "a plan", outcome{rb.Failed, "This agent does not accept this request from you"}) // not approved
	want("negotiate-meeting", "shall we meet?", outcome{State: rb.InputRequired})
	h.Restart()
	want("negotiate-meeting", slot, outcome{rb.Completed, "Agreed: " + slot})
	stranger := rb.StartCaller(t, at, "Stranger")
	r := request("a plan")
	r.Skill = rb.Ptr("notify-user")
	stranger.Invoke("RockBot", r)
	if got := stranger.Reply().Result; got == nil || got.State != rb.Failed || !strings.Contains(got.Message.Text(), "does not accept this request from you") {
		t.Errorf("a stranger is answered with %+v", got)
	}
	want("brew-tea", "x", outcome{rb.Failed, "This agent does not accept this request from you. Its owner was notified"})
	var note struct{ Category, Value string }
	key := url.QueryEscape("session/primary/a2a-outcomes/negotiate-meeting/with-negotiate-meeting")
	if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/memory/note?key=" + key}, &note); err != nil || note.Category != "a2a-outcome" || !strings.Contains(note.Value, "Primary") {
		t.Errorf("the outcome is %+v, %v", note, err)
	}
}
