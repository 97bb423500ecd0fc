package rockbot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// bobAndDesk is the configuration of a hub whose own agents have the skills of others as well.
const bobAndDesk = `
bus: {url: "off"}
auth: {api_keys: {%s: {agent_id: alice, roles: [admin]}}}
rockbot: {url: %q, name: RockBot, serve: [RockBot]}
front_desk: {serve: true}
trust: {file: agent-trust.json}
agents:
  - {name: shout, command: tr a-z A-Z, skills: [{id: shout, name: Shout}]}
MORE`

// desk starts a hub with the document's own entry for Bob, who has three skills of the hub. It returns
// when the primary agent has the card of the hub, which can be called and hears agents then.
func desk(t *testing.T, at, more string) (*hubtest.Hub, *rb.Caller) {
	t.Helper()
	primary := rb.StartCaller(t, at, "Primary")
	h := hubtest.New(t, hubtest.Options{Config: strings.Replace(fmt.Sprintf(bobAndDesk, aliceKey, at), "MORE", more, 1)})
	bob := `[{"agentName": "Bob", "skills": [{"id": "notify-user", "name": "Notify"}, {"id": "shout", "name": "Shout"}, {"id": "general", "name": "General"}, {"id": "dig", "name": "Dig"}]}]`
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(h.Data(), "well-known-agents.json"): bob,
		filepath.Join(h.Dir(), "agent-trust.json"):        peersTrust,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	primary.Card()
	return h, primary
}

// replies invokes a skill of the hub and returns the reply to that task.
func replies(t *testing.T, c *rb.Caller, r *rb.Request) *rb.Reply {
	t.Helper()
	id := c.Invoke("RockBot", r)
	for {
		got := c.Reply()
		if got.Result == nil || rb.Val(got.Result.TaskID) == id {
			return got
		}
	}
}

func skilled(skill, text string) *rb.Request {
	r := request(text)
	r.Skill = &skill
	return r
}

// TestOwnAgentsFirst: a message for a skill of the hub is for the hub, although others list it,
// whatever the trust in its caller. What the hub does not do itself goes to others.
func TestOwnAgentsFirst(t *testing.T) {
	t.Parallel()
	at := rabbittest.Shared(t).VHost(t)
	h, primary := desk(t, at, "")
	stranger := rb.StartCaller(t, at, "Stranger")
	said := func(who string) func(*rb.Task) (*rb.Result, error) {
		return func(task *rb.Task) (*rb.Result, error) {
			return task.Result(rb.Completed, who+" did "+rb.Val(task.Skill)), nil
		}
	}
	bob := rb.StartAgent(t, at, &rb.Agent{Name: "Bob", Handle: said("Bob")})
	thief := rb.StartAgent(t, at, &rb.Agent{Name: "Thief", Card: cardOf("Thief", "shout"), Handle: said("Thief")})
	awaitLog(t, h, `msg="agent has announced itself" agent=thief`)
	for range 8 { // a draw among three would send others some
		for _, tt := range []struct {
			caller      *rb.Caller
			skill, want string
			state       rb.State
		}{
			{primary, "shout", "HELLO", rb.Completed},
			{stranger, "SHOUT", "HELLO", rb.Completed},
			{primary, "general", "HELLO", rb.Completed},
			{primary, "notify-user", "", rb.Completed},
			{stranger, "notify-user", "This agent does not accept this request from you", rb.Failed},
		} {
			r := replies(t, tt.caller, skilled(tt.skill, "hello")).Result
			if r == nil || r.State != tt.state || !strings.HasPrefix(strings.TrimSpace(r.Message.Text()), tt.want) {
				t.Errorf("%s is answered with %+v", tt.skill, r)
			}
		}
	}
	if n := len(bob.Tasks) + len(thief.Tasks); n > 0 {
		t.Errorf("others were sent %d messages for skills of the hub", n)
	}
	if r := replies(t, primary, skilled("dig", "hello")).Result; r == nil || r.Message.Text() != "Bob did dig" {
		t.Errorf("a skill of Bob alone is answered with %+v", r)
	}
	t.Run("a refusal is no failure", func(t *testing.T) {
		var all json.RawMessage
		if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/costs?agent=notify-user", Header: []string{"X-API-Key", aliceKey}}, &all); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(all), `"successRate":`) && !strings.Contains(string(all), `"successRate":1,`) {
			t.Errorf("the refusals count against the agent: %s", all)
		}
	})
}

// TestConfiguredChoice: with a rule of the operator other agents take part.
func TestConfiguredChoice(t *testing.T) {
	t.Parallel()
	at := rabbittest.Shared(t).VHost(t)
	_, primary := desk(t, at, "broker: {skills: [{id: shout, among: [bob]}]}\n")
	rb.StartAgent(t, at, &rb.Agent{Name: "Bob", Handle: func(task *rb.Task) (*rb.Result, error) {
		return task.Result(rb.Completed, "Bob shouts"), nil
	}})
	r := replies(t, primary, skilled("shout", "hello")).Result
	if r == nil || r.Message.Text() != "Bob shouts" {
		t.Errorf("the answer is %+v", r)
	}
}

// TestFarewell: an agent of no file that has left is not listed and gets nothing; one that returns is.
func TestFarewell(t *testing.T) {
	t.Parallel()
	at := rabbittest.Shared(t).VHost(t)
	h, primary := desk(t, at, "")
	a := &rb.Agent{Name: "Brewer", Card: cardOf("Brewer", "brew"), Handle: func(task *rb.Task) (*rb.Result, error) {
		return task.Result(rb.Completed, "tea"), nil
	}}
	brewed := func() string {
		t.Helper()
		r := replies(t, primary, skilled("brew", "tea"))
		if r.Result == nil {
			t.Fatalf("the answer is %+v", r.Error)
		}
		return r.Result.Message.Text()
	}
	for range 2 {
		running := rb.StartAgent(t, at, a)
		awaitListed(t, h, "brewer", true)
		if got := brewed(); got != "tea" {
			t.Errorf("the announced agent answers %q", got)
		}
		running.Stop()
		awaitListed(t, h, "brewer", false)
		if got := brewed(); !strings.HasPrefix(got, "This agent does not accept this request from you") {
			t.Errorf("after the farewell the answer is %q", got)
		}
	}
	h.Restart()
	if _, there := agents(t, h)["brewer"]; there {
		t.Error("after a restart the agent is listed")
	}
	if _, there := agents(t, h)["bob"]; !there {
		t.Error("the agent of the file is not listed")
	}
}

// awaitListed waits until the directory lists an agent, or does not.
func awaitListed(t *testing.T, h *hubtest.Hub, name string, want bool) {
	t.Helper()
	for ctx := within(t); ; {
		if _, there := agents(t, h)[name]; there == want {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("agent %s: listed is not %v", name, want)
		}
	}
}

// TestUnknownSkills: on RockBot's exchange a message for an unknown skill is not done, whatever the
// trust in its caller, and the owner gets a notice; elsewhere it is the protocol's error.
func TestUnknownSkills(t *testing.T) {
	t.Parallel()
	at := rabbittest.Shared(t).VHost(t)
	h, primary := desk(t, at, "")
	for name, c := range map[string]*rb.Caller{"Primary": primary, "Stranger": rb.StartCaller(t, at, "Stranger")} {
		r := replies(t, c, skilled("brew-tea", "Earl Grey for "+name))
		if r.Result == nil || r.Result.State != rb.Failed || !strings.Contains(r.Result.Message.Text(), "Its owner was notified") {
			t.Errorf("%s is answered with %+v, %+v", name, r.Result, r.Error)
		}
		var items struct {
			Items []struct{ Kind, Caller, Skill, Text string }
		}
		if err := hubtest.Call(within(t), hubtest.Request{URL: h.URL() + "/api/v1/inbox", Header: []string{"X-API-Key", aliceKey}}, &items); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, it := range items.Items {
			found = found || it.Kind == "notice" && it.Skill == "brew-tea" && it.Caller == "rockbot/"+name && strings.Contains(it.Text, "Earl Grey for "+name)
		}
		if !found {
			t.Errorf("the inbox has %+v", items.Items)
		}
	}
	alice := &caller{t, h, aliceKey}
	var got json.RawMessage
	err := alice.rpc("shout", "SendMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"metadata":{"skill":"brew-tea"}}`, &got)
	if err == nil || !strings.Contains(err.Error(), "-32602") || !strings.Contains(err.Error(), "brew-tea") {
		t.Errorf("elsewhere the answer is %s, %v", got, err)
	}
}
