package rockbot_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// cardOf returns the card of an agent with one skill.
func cardOf(name, skill string) *rb.Card {
	return &rb.Card{
		AgentName: rb.Ptr(name), Description: rb.Ptr(name + " helps."), Version: rb.Ptr("2.1"),
		Skills: []rb.Skill{{ID: rb.Ptr(skill), Name: rb.Ptr(skill), Description: rb.Ptr("Does " + skill + "."), Tags: []string{"new"}}},
	}
}

// listed is an agent in the output of parley agents list --json.
type listed struct {
	Name, Title, Description, Version, LastSeen, State string

	Skills []struct{ ID string }
}

// agents returns the agents in the hub's directory, by name.
func agents(t *testing.T, h *hubtest.Hub) map[string]listed {
	t.Helper()
	out, err := h.Parley(within(t), "agents", "list", "--json", "--api-key", aliceKey)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]listed{}
	for line := range strings.Lines(out) {
		var a listed
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		byName[a.Name] = a
	}
	return byName
}

const discovering = `
bus: {url: "off"}
auth: {api_keys: {%s: {agent_id: alice}}}
rockbot: {url: %q, name: hub, serve: [echo]}
directory: {write_known_agents: true}
agents:
  - {name: newcomer, rockbot: NewcomerAgent, timeout: 1m}
`

const wellKnown = `[
  {"agentName": "ResearchAgent"},
  {"agentName": "PinnedAgent", "skills": [{"id": "dig", "name": "Dig", "description": "Digs."}]}
]`

// TestDiscovery: agents on RockBot's exchange and the hub find each other.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	primary := rb.StartCaller(t, url, "Primary")
	h := hubtest.New(t, hubtest.Options{Config: fmt.Sprintf(discovering, aliceKey, url)})
	if err := os.MkdirAll(h.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.Data(), "well-known-agents.json"), []byte(wellKnown), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	alice := &caller{t, h, aliceKey}

	t.Run("B28", func(t *testing.T) {
		if exchange.AnnounceEvery != 2*time.Minute {
			t.Errorf("agents are announced every %v", exchange.AnnounceEvery)
		}
		card := primary.Card()
		got := []string{rb.Val(card.AgentName), rb.Val(card.Skills[0].ID), card.Envelope.Source, card.Envelope.Topic}
		if diff := cmp.Diff([]string{"echo", "echo", "echo", "discovery.announce"}, got); diff != "" || card.IsDeregistering {
			t.Errorf("announcement (-want +got):\n%s", diff)
		}
		id := primary.Invoke("echo", request("hello"))
		if r := primary.Reply().Result; r == nil || rb.Val(r.TaskID) != id || r.State != rb.Completed {
			t.Errorf("the announced agent answers %+v", r)
		}
	})
	t.Run("not seen", func(t *testing.T) {
		all := agents(t, h)
		for name, skills := range map[string]int{"researchagent": 0, "pinnedagent": 1} {
			if a := all[name]; a.LastSeen != "well-known (not yet seen this session)" || len(a.Skills) != skills {
				t.Errorf("%s = %+v", name, a)
			}
		}
	})
	t.Run("B25", func(t *testing.T) {
		id := alice.text("pinnedagent", "b25", "dig").ID
		awaitDepth(t, primary, rb.QueueOf("PinnedAgent", "agent.task.PinnedAgent"))
		agent := rb.StartAgent(t, url, &rb.Agent{Name: "PinnedAgent", Handle: work})
		alice.wait("pinnedagent", id, "TASK_STATE_COMPLETED")
		agent.Unread()
		awaitSeen(t, h, "pinnedagent")
	})
	t.Run("B27", func(t *testing.T) { hearsAgents(t, h, alice, url) })
	t.Run("B29", func(t *testing.T) { learnsSkills(t, h, alice, url) })
	t.Run("B24", func(t *testing.T) {
		agent := rb.StartAgent(t, url, &rb.Agent{Name: "ResearchAgent", Card: cardOf("ResearchAgent", "dig"), Handle: work})
		awaitLog(t, h, `msg="agent has announced itself" agent=researchagent`)
		before := agents(t, h)["researchagent"]
		if _, err := time.Parse(time.RFC3339, before.LastSeen); err != nil || before.State != "up" || len(before.Skills) != 1 {
			t.Errorf("after its announcement the agent is %+v", before)
		}
		agent.Stop()
		for range 3 { // messages are handled in the order of publication
			primary.Announce(cardOf("Primary", "lead"))
		}
		awaitLog(t, h, `msg="agent has announced itself" agent=primary`)
		if a, ok := agents(t, h)["researchagent"]; !ok || a.LastSeen != before.LastSeen {
			t.Errorf("after its farewell the agent is %+v, %v", a, ok)
		}
	})
	t.Run("B30", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(h.Data(), "known-agents.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"agentName": "LateAgent"`, `"agentName": "NewcomerAgent"`, `"id": "brew"`, `"lastSeen": "20`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("known-agents.json has no %s:\n%s", want, text)
			}
		}
		h.Restart()
		if a, ok := agents(t, h)["newcomeragent"]; ok {
			t.Errorf("after a restart an agent that the configuration names has another name, too: %+v", a)
		}
		if a := agents(t, h)["lateagent"]; len(a.Skills) != 1 || a.Description != "LateAgent helps." {
			t.Errorf("after a restart the agent is %+v", a)
		}
	})
	t.Run("hostile", func(t *testing.T) { refusesAnnouncements(t, h, primary) })
	t.Run("farewell of the hub", func(t *testing.T) {
		later := rb.StartCaller(t, url, "Later")
		h.Stop()
		for {
			if card := later.Card(); card.IsDeregistering {
				if rb.Val(card.AgentName) != "echo" {
					t.Errorf("%s deregisters", rb.Val(card.AgentName))
				}
				return
			}
		}
	})
}

// awaitLog waits until the hub has logged a text.
func awaitLog(t *testing.T, h *hubtest.Hub, text string) {
	t.Helper()
	if err := h.Process().Await(within(t), text); err != nil {
		t.Fatal(err)
	}
}

// awaitSeen polls until an agent has a real time of last seen, because the directory has no
// event for that.
func awaitSeen(t *testing.T, h *hubtest.Hub, name string) {
	t.Helper()
	ctx, tick := within(t), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		a := agents(t, h)[name]
		if _, err := time.Parse(time.RFC3339, a.LastSeen); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s was last seen %q", name, a.LastSeen)
		}
	}
}

// hearsAgents checks that an agent that announces itself is in the directory and can be called
// by its own name.
func hearsAgents(t *testing.T, h *hubtest.Hub, alice *caller, url string) {
	agent := rb.StartAgent(t, url, &rb.Agent{Name: "LateAgent", Card: cardOf("LateAgent", "brew"), Handle: work})
	awaitLog(t, h, `msg="agent has announced itself" agent=lateagent`)
	a := agents(t, h)["lateagent"]
	if a.Title != "LateAgent" || a.Description != "LateAgent helps." || a.Version != "2.1" || len(a.Skills) != 1 || a.Skills[0].ID != "brew" || a.State != "up" {
		t.Errorf("LateAgent is listed as %+v", a)
	}
	id := alice.send("lateagent", `{"messageId":"b27","role":"ROLE_USER","parts":[{"text":"tea"}],"metadata":{"skill":"brew"}}`).ID
	if got := rb.Val(agent.Next().Skill); got != "brew" {
		t.Errorf("the agent is asked for %q", got)
	}
	alice.wait("lateagent", id, "TASK_STATE_COMPLETED")
	agent.Unread()
}

// learnsSkills checks that a configured agent has only the skills that it announces, and none
// before.
func learnsSkills(t *testing.T, h *hubtest.Hub, alice *caller, url string) {
	if a := agents(t, h)["newcomer"]; len(a.Skills) != 0 {
		t.Errorf("before its announcement newcomer has the skills %+v", a.Skills)
	}
	skill := func(task *rb.Task) (*rb.Result, error) { return task.Result(rb.Completed, rb.Val(task.Skill)), nil }
	agent := rb.StartAgent(t, url, &rb.Agent{
		Name: "NewcomerAgent", Card: cardOf("NewcomerAgent", "welcome"),
		Skills: map[string]func(*rb.Task) (*rb.Result, error){"welcome": skill, "general": skill},
	})
	awaitLog(t, h, `msg="agent has announced itself" agent=newcomer`)
	if a := agents(t, h)["newcomer"]; len(a.Skills) != 1 || a.Skills[0].ID != "welcome" {
		t.Errorf("after its announcement newcomer has the skills %+v", a.Skills)
	}
	for i, tt := range []struct{ metadata, want string }{{`{}`, "general"}, {`{"skill":"WELCOME"}`, "WELCOME"}} {
		id := alice.send("newcomer", fmt.Sprintf(`{"messageId":"b29-%d","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":%s}`, i, tt.metadata)).ID
		if got := rb.Val(agent.Next().Skill); got != tt.want {
			t.Errorf("with %s the agent is asked for %q", tt.metadata, got)
		}
		alice.wait("newcomer", id, "TASK_STATE_COMPLETED")
	}
	out, err := h.Parley(within(t), "agents", "show", "NewcomerAgent", "--api-key", aliceKey)
	if err != nil || !strings.Contains(out, "welcome") {
		t.Errorf("agents show NewcomerAgent: %v\n%s", err, out)
	}
}

// refusesAnnouncements checks that an invalid card, or one that claims another agent's name,
// changes nothing and is logged.
func refusesAnnouncements(t *testing.T, h *hubtest.Hub, from *rb.Caller) {
	before := agents(t, h)
	for name, tt := range map[string]struct{ source, body, log string }{
		"another's name":  {"Mallory", `{"agentName":"LateAgent","skills":[]}`, `announced as \"LateAgent\", but its source is \"Mallory\"`},
		"the hub's agent": {"Clock", `{"agentName":"Clock","skills":[]}`, `the hub already has an agent \"clock\"`},
		"same name here":  {"lateagent", `{"agentName":"lateagent","skills":[]}`, `in the hub its name is \"lateagent\", which another agent has`},
		"a number":        {"Mallory", `{"agentName":7}`, `agentName: wrong type: number`},
		"skills":          {"Mallory", `{"agentName":"Mallory","skills":"all"}`, `skills: wrong type: string`},
		"no name":         {"Mallory", `{"skills":[]}`, `agentName is missing`},
		"no JSON":         {"Mallory", `nonsense`, `invalid character`},
		"bad characters":  {"a.b", `{"agentName":"a.b"}`, `is invalid; use at most`},
	} {
		from.Publish(&rb.Wire{Topic: rb.AnnounceTopic, Type: "RockBot.A2A.AgentCard", Source: tt.source, Body: []byte(tt.body)})
		if err := h.Process().Await(within(t), tt.log); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, agents(t, h)); diff != "" {
		t.Errorf("what was refused has changed the directory (-before +after):\n%s", diff)
	}
}
