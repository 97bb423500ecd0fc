package protoworkstacean

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ownCard returns the document's card of an agent in a container, whose url is unreachable from
// elsewhere.
func ownCard(streaming, skills string) string {
	return `{"protocolVersion":"0.3.0","name":"Quinn","description":"d","version":"1","url":"http://127.0.0.1:7870/elsewhere","preferredTransport":"JSONRPC",
"capabilities":{"streaming":` + streaming + `},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[` + skills + `],
"securitySchemes":{"apiKey":{"type":"apiKey","in":"header","name":"X-API-Key"}},"security":[{"apiKey":[]}]}`
}

func cardSkill(id, description string) string {
	return `{"id":"` + id + `","name":"` + id + `","description":"` + description + `","tags":["t"]}`
}

// skillsOf returns the ids and descriptions of an agent's skills in the hub.
func (h *hub) skillsOf(name string) []string {
	var all []string
	list, _ := h.entry(name)["skills"].([]any)
	for _, s := range list {
		id, _ := member(s, "id").(string)
		description, _ := member(s, "description").(string)
		all = append(all, id+": "+description)
	}
	slices.Sort(all)
	return all
}

// TestCards: the hub reads agent-card.json, else agent.json, at the base URL. Its skills are
// merged with those of the file, which take precedence, and are read again without a restart.
// The card's url is not called.
func TestCards(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{
		Key: "ava-secret", CardPath: "/.well-known/agent.json",
		Card: ownCard("false", cardSkill("pr_review", "of the card")+","+cardSkill("newskill", "new")),
	})
	h := startHub(t, settings{
		Config: "directory: {refresh: 1s, probe: 1s}\n",
		Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\", apiKeyEnv: AVA_API_KEY, skills: [{name: pr_review, description: of the file}, bug_triage]}\n" +
			"  - {name: frank, url: \"" + quinn.URL + "/a2a\", apiKeyEnv: NO_SUCH_KEY}\n",
		Env: []string{"AVA_API_KEY=ava-secret"},
	})
	quinn.await(t, "card", func(log []received) bool {
		return slices.ContainsFunc(log, func(r received) bool { return r.Path == "/.well-known/agent.json" && r.Header.Get("X-Api-Key") != "" })
	})
	t.Run("order", func(t *testing.T) {
		var paths []string
		for _, r := range quinn.requests(http.MethodGet) {
			if r.Header.Get("X-Api-Key") != "" && len(paths) < 4 {
				paths = append(paths, r.Path)
			}
		}
		want := []string{"/a2a/.well-known/agent-card.json", "/a2a/.well-known/agent.json", "/.well-known/agent-card.json", "/.well-known/agent.json"}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("GETs (-want +got):\n%s", diff)
		}
	})
	t.Run("called at the configured URL", func(t *testing.T) {
		if got := h.chat(map[string]any{"agent": "quinn", "message": "hi"}); got.Reply != "re: hi" {
			t.Errorf("the reply is %+v", got)
		}
	})
	t.Run("merged", func(t *testing.T) {
		want := []string{"bug_triage: ", "newskill: new", "pr_review: of the file"}
		if diff := cmp.Diff(want, h.skillsOf("quinn")); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
	})
	t.Run("key that is not set", func(t *testing.T) {
		_, err := h.Parley(t.Context(), "send", "--agent", "frank", "hi")
		if err == nil || !strings.Contains(err.Error(), "NO_SUCH_KEY is not set") {
			t.Errorf("send to an agent without its key: %v", err)
		}
	})
	t.Run("read again", func(t *testing.T) {
		quinn.setCard(ownCard("false", cardSkill("brandnew", "later")))
		if err := h.Process().Await(t.Context(), "skills have disappeared"); err != nil {
			t.Fatal(err)
		}
		// The hub requests the card again after it has stored the previous one.
		asked := len(quinn.requests(http.MethodGet))
		quinn.await(t, "another question for the card", func(log []received) bool {
			return len(quinn.requests(http.MethodGet)) > asked
		})
		want := []string{"brandnew: later", "bug_triage: ", "pr_review: of the file"}
		if diff := cmp.Diff(want, h.skillsOf("quinn")); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
	})
	for _, r := range quinn.requests(http.MethodPost) {
		if r.Path != "/a2a" || r.Refused != "" {
			t.Errorf("POST %s was refused: %s", r.Path, r.Refused)
		}
	}
}

// TestHeaderOfTheCard: the hub sends the key in the header that the card requires.
func TestHeaderOfTheCard(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{Card: strings.Replace(ownCard("false", cardSkill("x", "y")), "X-API-Key", "X-Team-Key", 1)})
	h := startHub(t, settings{
		Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\", apiKeyEnv: AVA_API_KEY}\n", Env: []string{"AVA_API_KEY=ava-secret"},
	})
	h.chat(map[string]any{"agent": "quinn", "message": "hi"})
	if got := quinn.last(t).Header; got.Get("X-Team-Key") != "ava-secret" || got.Get("X-Api-Key") != "" {
		t.Errorf("the headers are %v", got)
	}
}

// TestPinnedSkills: for an entry of well-known-agents.json with skills the hub never requests a
// card, and calls the agent all the same.
func TestPinnedSkills(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{Card: ownCard("false", cardSkill("other", "of the card")), AnyContext: true})
	h := startHub(t, settings{
		Config: "directory: {refresh: 1s, probe: 1s}\n",
		Known:  `[{"agentName":"Quinn","url":"` + quinn.URL + `/a2a","skills":[{"id":"pinned","name":"Pinned","description":"d"}]}]`,
	})
	got := h.call("/a2a/quinn", `{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}}`)
	if member(got, "result", "artifacts", 0, "parts", 0, "text") != "re: hi" {
		t.Errorf("the answer is %v", got)
	}
	if diff := cmp.Diff([]string{"pinned: d"}, h.skillsOf("quinn")); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if gets := quinn.requests(http.MethodGet); len(gets) > 0 {
		t.Errorf("the card was asked for: %v", gets[0].Path)
	}
}

// TestServedCard: the hub's agent-card.json has the document's securitySchemes
// and security, for readers of that version.
func TestServedCard(t *testing.T) {
	t.Parallel()
	h := startHub(t, settings{})
	key := strings.TrimSpace(h.parley("keys", "add", "--agent", "ava", "--yes-lock-me-out"))
	card := h.call("/.well-known/agent-card.json", "")
	scheme, _ := member(card, "securitySchemes", "apiKey").(map[string]any)
	if scheme["type"] != "apiKey" || scheme["in"] != "header" {
		t.Fatalf("securitySchemes are %v", card["securitySchemes"])
	}
	name, _ := scheme["name"].(string)
	if !strings.EqualFold(name, "X-API-Key") {
		t.Errorf("the header is %q", name)
	}
	list, _ := card["security"].([]any)
	if !slices.ContainsFunc(list, func(v any) bool { return cmp.Equal(v, map[string]any{"apiKey": []any{}}) }) {
		t.Errorf("security is %v", card["security"])
	}
	address, _ := card["url"].(string)
	answer := h.call(strings.TrimPrefix(address, h.URL()), literal("hi", ""), name, key)
	if member(answer, "result", "status", "state") != "completed" {
		t.Errorf("the answer is %v", answer)
	}
}
