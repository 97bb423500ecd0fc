package directory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

func spec(name, url string, skills ...string) directory.Spec {
	s := directory.Spec{Name: task.Agent(name), URL: url, Where: "agents.yaml:1"}
	for _, id := range skills {
		s.Skills = append(s.Skills, directory.Skill{ID: id, Description: "Configured."})
	}
	return s
}

// The source takes precedence, skill by skill; the card supplies the rest.
func TestSpecAndCardAreMerged(t *testing.T) {
	t.Parallel()
	p := startPeer(t, serveDocument(cardOf("Card Name", "review", "extra")))
	b := open(t, directory.Config{Sources: []directory.Source{source("agents.yaml", spec("quinn", p.URL, "REVIEW", "triage"))}})
	if diff := cmp.Diff([]string{"put quinn [REVIEW triage]"}, b.hub.take()); diff != "" {
		t.Errorf("calls of the registrar before the card was served (-want +got):\n%s", diff)
	}
	got := b.refresh("quinn")
	if !got.Reachable || !got.Changed || got.SkillCount != 3 || !got.Streaming || !got.Push || got.Latency <= 0 || got.Error != "" {
		t.Errorf("Refresh = %+v", got)
	}
	e := b.get("quinn")
	want := []directory.Skill{
		{ID: "REVIEW", Name: "REVIEW", Description: "Configured.", Tags: []string{"tag-review"}},
		{ID: "triage", Description: "Configured."},
		{ID: "extra", Name: "EXTRA", Description: "Does extra.", Tags: []string{"tag-extra"}},
	}
	if diff := cmp.Diff(want, e.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if e.Title != "quinn" || e.Description != "The agent Card Name." || e.Version != "2.0.0" || e.ProtocolVersion != "1.0" {
		t.Errorf("entry = %+v", e)
	}
	if diff := cmp.Diff([]string{"put quinn [REVIEW triage extra]"}, b.hub.take()); diff != "" {
		t.Errorf("calls of the registrar (-want +got):\n%s", diff)
	}
	if again := b.refresh("quinn"); again.Changed || len(b.hub.take()) != 0 {
		t.Errorf("the same card again: %+v, and the registrar was called", again)
	}
	c := e.Card()
	if len(c.Skills) != 3 || len(c.SupportedInterfaces) != 0 || c.SecuritySchemes != nil || !c.Capabilities.Streaming {
		t.Errorf("the hub's card = %+v", c)
	}
}

// TestProviderOfARemoteAgent checks that the hub's card of a remote agent has its provider and
// links, also after they changed, and that a pinned agent has none.
func TestProviderOfARemoteAgent(t *testing.T) {
	t.Parallel()
	doc := func(org string) string {
		return strings.Replace(cardOf("a", "x"), "{", `{"provider":{"organization":"`+org+`","url":"https://acme.example"},
			"documentationUrl":"https://acme.example/docs","iconUrl":"https://acme.example/icon.png",`, 1)
	}
	p := startPeer(t, serveDocument(doc("Acme")))
	pinned := spec("pinned", p.URL, "x")
	pinned.Pinned = true
	b := open(t, directory.Config{Sources: []directory.Source{source("f", spec("a", p.URL, "x"), pinned)}})
	for _, org := range []string{"Acme", "Acme and Sons"} {
		p.becomes(serveDocument(doc(org)))
		b.refresh("a")
		b.hub.take()
		c := b.get("a").Card()
		if c.Provider == nil || *c.Provider != (a2a.AgentProvider{Org: org, URL: "https://acme.example"}) ||
			c.DocumentationURL != "https://acme.example/docs" || c.IconURL != "https://acme.example/icon.png" {
			t.Errorf("the hub's card = %+v, want the provider %s and its links", c, org)
		}
	}
	p.becomes(serveDocument(strings.Replace(doc("Acme"), "icon.png", "logo.png", 1)))
	b.refresh("a")
	if diff := cmp.Diff([]string{"put a [x]"}, b.hub.take()); diff != "" {
		t.Errorf("calls of the registrar for another icon (-want +got):\n%s", diff)
	}
	if c := b.get("pinned").Card(); c.Provider != nil || c.DocumentationURL+c.IconURL != "" {
		t.Errorf("the card of a pinned agent = %+v", c)
	}
}

// The registrar is notified of a card that changes the address, binding or header for calls. A
// card with the same content in other words causes no notification.
func TestInterfacesChange(t *testing.T) {
	t.Parallel()
	first := cardOf("a", "one")
	p := startPeer(t, serveDocument(first))
	b := open(t, directory.Config{Sources: []directory.Source{source("agents.yaml", spec("a", p.URL))}})
	b.refresh("a")
	b.hub.take()
	for name, tt := range map[string]struct {
		old, new string
		calls    int
	}{
		"URL":     {"elsewhere.example", "moved.example", 1},
		"binding": {`"JSONRPC"`, `"GRPC"`, 1},
		"header":  {`"skills"`, `"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":"header","name":"X-Team-Key"}}},"skills"`, 1},
		"spaces":  {`{"capabilities"`, `{ "capabilities"`, 0},
	} {
		p.becomes(serveDocument(strings.Replace(first, tt.old, tt.new, 1)))
		changed := b.refresh("a")
		if got := b.hub.take(); len(got) != tt.calls || !changed.Changed {
			t.Errorf("%s: calls of the registrar %q, want %d; the card has changed: %v", name, got, tt.calls, changed.Changed)
		}
		p.becomes(serveDocument(first))
		b.refresh("a")
		if got := b.hub.take(); len(got) != tt.calls {
			t.Errorf("%s: with the first card again calls of the registrar %q, want %d", name, got, tt.calls)
		}
	}
}

// A new skill is present after one refresh. A removed skill disappears with a warning, unless
// it is configured.
func TestSkillsComeAndGo(t *testing.T) {
	t.Parallel()
	p := startPeer(t, serveDocument(cardOf("a", "one", "kept")))
	b := open(t, directory.Config{Sources: []directory.Source{source("agents.yaml", spec("a", p.URL, "kept"))}})
	b.refresh("a")
	p.becomes(serveDocument(cardOf("a", "one", "kept", "added")))
	if p := b.refresh("a"); !p.Changed || p.SkillCount != 3 {
		t.Errorf("Refresh = %+v, want the added skill", p)
	}
	p.becomes(serveDocument(cardOf("a", "added")))
	b.refresh("a")
	if diff := cmp.Diff([]string{"kept", "added"}, ids(b.get("a"))); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if b.logs.count(`skills have disappeared from an agent's card" agent=a skills=one`) != 1 {
		t.Errorf("no warning of the skill that has vanished:\n%s", b.logs)
	}
}

// A well-known agent with pinned skills is used as listed: no card is fetched.
func TestPinned(t *testing.T) {
	t.Parallel()
	p := startPeer(t, serveDocument(cardOf("a", "other")))
	s := spec("agenta", p.URL, "echo")
	s.Pinned, s.WellKnown, s.Title = true, true, "AgentA"
	b := open(t, directory.Config{Sources: []directory.Source{source("well-known-agents.json", s)}})
	b.start()
	b.refresh("AgentA")
	e := b.get("AgentA")
	if diff := cmp.Diff([]string{"echo"}, ids(e)); diff != "" || p.questions() != 0 {
		t.Errorf("the agent was asked %d times, skills (-want +got):\n%s", p.questions(), diff)
	}
	if got := e.LastSeen(); got != "well-known (not yet seen this session)" || e.Title != "AgentA" {
		t.Errorf("%s was last seen %q", e.Title, got)
	}
}

func TestLastSeen(t *testing.T) {
	t.Parallel()
	p := startPeer(t, serveDocument(cardOf("a")))
	known := spec("known", p.URL)
	known.WellKnown = true
	b := open(t, directory.Config{Sources: []directory.Source{source("f", known, spec("plain", p.URL), directory.Spec{Name: "mine", Local: true})}})
	for name, want := range map[string]string{"known": "well-known (not yet seen this session)", "plain": "never", "mine": "here"} {
		if got := b.get(name).LastSeen(); got != want {
			t.Errorf("%s was last seen %q, want %q", name, got, want)
		}
		b.refresh(name)
	}
	for _, name := range []string{"known", "plain"} {
		if got := b.get(name).LastSeen(); !strings.HasPrefix(got, "20") || !strings.HasSuffix(got, "Z") {
			t.Errorf("%s was last seen %q, want a time", name, got)
		}
	}
	if diff := cmp.Diff([]string{"put known []", "put plain []"}, b.hub.take()[:2]); diff != "" {
		t.Errorf("calls of the registrar (-want +got):\n%s", diff)
	}
}

// The first source takes precedence; the others are named among the problems.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	first, second := source("parley.yaml", spec("a", "http://one")), source("agents.yaml", spec("a", "http://two", "x"), spec("b", "http://b"))
	second.first.Specs[0].Where = "agents.yaml:7"
	b := open(t, directory.Config{Sources: []directory.Source{first, second}, Fetcher: silent{}})
	b.start()
	e := b.get("a")
	if diff := cmp.Diff([]string{"parley.yaml", "agents.yaml"}, e.Sources); diff != "" || e.Spec.URL != "http://one" || e.Registered {
		t.Errorf("entry %+v, sources (-want +got):\n%s", e, diff)
	}
	want := []string{"agents.yaml:7 is ignored: agents.yaml:1 already has an agent with this name"}
	if diff := cmp.Diff(want, e.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	again := directory.Update{Specs: slices.Clone(second.first.Specs)}
	again.Specs[0].Description = "another one"
	second.changes <- again
	second.changes <- again // the first change was received
	if n := b.logs.count("two agents have one name"); n != 1 {
		t.Errorf("the log names the problem %d times, want once:\n%s", n, b.logs)
	}
	first.changes <- directory.Update{}
	first.changes <- directory.Update{} // the first change was received
	if e := b.get("a"); e.Spec.URL != "http://two" || len(e.Problems) != 0 {
		t.Errorf("without the first source: %+v", e)
	}
	second.changes <- directory.Update{}
	second.changes <- directory.Update{}
	if got := b.names(); len(got) != 0 {
		t.Errorf("agents that no source names: %v", got)
	}
	calls := strings.Join(b.hub.take(), "; ")
	if !strings.HasSuffix(calls, "put a [x]; drop a; drop b") {
		t.Errorf("calls of the registrar: %s", calls)
	}
}

// silent is a Fetcher without any agent that answers.
type silent struct{ web }

// An error in a source removes no agent: valid agents count, missing ones remain.
func TestProblemsTakeNothingAway(t *testing.T) {
	t.Parallel()
	s := source("agents.yaml", spec("a", "http://a"), spec("b", "http://b"))
	b := open(t, directory.Config{Sources: []directory.Source{s}, Probe: -1})
	b.start()
	mistake := errors.New("agents.yaml:3: agents[0].ulr: unknown key")
	broken := directory.Update{Specs: []directory.Spec{spec("b", "http://new"), spec("c", "http://c")}, Problems: []error{mistake}}
	for range 2 {
		s.changes <- broken
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, b.names()); diff != "" || b.get("b").Spec.URL != "http://new" {
		t.Errorf("b is at %s, agents (-want +got):\n%s", b.get("b").Spec.URL, diff)
	}
	if diff := cmp.Diff([]directory.Problem{{"agents.yaml", mistake.Error()}}, b.Problems()); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	s.changes <- directory.Update{Specs: broken.Specs}
	s.changes <- directory.Update{Specs: broken.Specs}
	if diff := cmp.Diff([]string{"b", "c"}, b.names()); diff != "" || len(b.Problems()) != 0 {
		t.Errorf("problems %v, agents after the mistake was mended (-want +got):\n%s", b.Problems(), diff)
	}
	if b.logs.count("unknown key") != 1 || b.logs.count("has recovered") != 1 {
		t.Errorf("want one record of the mistake and one of its end:\n%s", b.logs)
	}
}

func TestGetNamesTheNearest(t *testing.T) {
	t.Parallel()
	b := open(t, directory.Config{Sources: []directory.Source{source("f", spec("researcher", "http://r"))}})
	for name, want := range map[string]string{
		"resercher": "did you mean researcher?", "xyz": `no such agent as "xyz"`, strings.Repeat("x", 5000): "…",
	} {
		if _, err := b.Get(name); !errors.Is(err, directory.ErrNoAgent) || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("Get(%.20q): %v, want ErrNoAgent with %q", name, err, want)
		}
	}
	if e := b.get("Researcher"); e.Name() != "researcher" {
		t.Errorf("found %s", e.Name())
	}
}

// An agent that the registrar refuses is listed with the reason, and is tried again.
func TestRegistrarRefuses(t *testing.T) {
	t.Parallel()
	p := startPeer(t, serveDocument(cardOf("a")))
	b := open(t, directory.Config{Sources: []directory.Source{source("f")}})
	b.hub.fails = errors.New("the name is taken")
	if _, err := b.Register(t.Context(), directory.Spec{Title: "A", URL: p.URL}, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"it cannot be called: the name is taken"}, b.get("a").Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	b.hub.fails = nil
	b.refresh("a")
	if got := b.get("a").Problems; len(got) != 0 {
		t.Errorf("problems %v after the hub took it", got)
	}
}

// failing is a store whose reads fail.
type failing struct{ dirstore.Memory }

func (*failing) Records(context.Context) ([]card.Record, error) {
	return nil, fmt.Errorf("the disk is gone")
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	if err := directory.New(directory.Config{Store: new(failing)}).Open(t.Context()); err == nil {
		t.Error("Open of a store that does not work = nil")
	}
}

// Members of a card that the protocol does not define are in the entry, and a card that differs
// only in them counts as changed.
func TestOthersComeAndGo(t *testing.T) {
	t.Parallel()
	card := func(more string) string { return strings.Replace(cardOf("Far", "a"), "{", "{"+more, 1) }
	p := startPeer(t, serveDocument(card(`"x":{"big":9007199254740993},`)))
	b := open(t, directory.Config{Sources: []directory.Source{source("agents.yaml", spec("far", p.URL, "a"))}})
	b.refresh("far")
	if got, want := string(b.get("far").Others), `{"card":{"x":{"big":9007199254740993}}}`; got != want {
		t.Errorf("others = %s, want %s", got, want)
	}
	b.hub.take()
	p.becomes(serveDocument(card(`"x":1.50,`)))
	b.refresh("far")
	if got, want := string(b.get("far").Others), `{"card":{"x":1.50}}`; got != want {
		t.Errorf("others = %s, want %s", got, want)
	}
	if got := b.hub.take(); len(got) != 1 {
		t.Errorf("the registrar got %q, want the agent once", got)
	}
}
