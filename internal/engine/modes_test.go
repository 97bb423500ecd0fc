package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
)

// studio returns an engine with agents of different output media types.
func studio(t *testing.T) *bench {
	b := start(t, engine.Config{}, named("main"))
	for _, card := range []*a2a.AgentCard{
		{Name: "texts", DefaultOutputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{
			{ID: "write"}, {ID: "draw", OutputModes: []string{"image/*", "application/json; charset=utf-8"}},
		}},
		{Name: "any", DefaultOutputModes: []string{"text/plain", "*/*"}},
		{Name: "open", Skills: []a2a.AgentSkill{{ID: "draw", OutputModes: []string{"image/png"}}}},
	} {
		if err := b.Register(engine.Agent{Name: agentName(card.Name), Card: card, Executor: named(card.Name)}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// A caller that accepts none of the media types on the agent's card is refused. A side that
// lists none refuses nothing.
func TestAcceptedOutputModes(t *testing.T) {
	t.Parallel()
	b := studio(t)
	tests := []struct {
		agent, skill string
		accepted     []string
		refused      bool
	}{
		{"texts", "", nil, false},
		{"texts", "", []string{"text/plain"}, false},
		{"texts", "", []string{"TEXT/Plain ; charset=utf-8"}, false},
		{"texts", "", []string{"text/*"}, false},
		{"texts", "", []string{"text"}, false},
		{"texts", "", []string{"*/*"}, false},
		{"texts", "", []string{"file"}, false},
		{"texts", "", []string{"video/mp4", "text/plain"}, false},
		{"texts", "", []string{"image/png"}, false}, // a skill produces them
		{"texts", "", []string{"video/mp4"}, true},
		{"texts", "", []string{"text/html"}, true},
		{"texts", "write", []string{"text/plain"}, false},
		{"texts", "write", []string{"image/png"}, true},
		{"texts", "draw", []string{"image/webp"}, false},
		{"texts", "DRAW", []string{"application/json"}, false},
		{"texts", "draw", []string{"text/plain"}, true},
		{"texts", "draw", []string{"text"}, true},
		{"any", "", []string{"video/mp4"}, false},
		{"main", "", []string{"video/mp4"}, false},
		{"open", "", []string{"video/mp4"}, false}, // unknown without the skill
		{"open", "draw", []string{"video/mp4"}, true},
	}
	made := 0
	for _, tt := range tests {
		r := text("x")
		r.Agent, r.Message.Skill, r.AcceptedOutputModes = agentName(tt.agent), tt.skill, tt.accepted
		_, err := b.Send(t.Context(), alice, r)
		switch {
		case !tt.refused && err != nil:
			t.Errorf("%s, skill %q, accepted %q: %v", tt.agent, tt.skill, tt.accepted, err)
		case tt.refused && (!errors.Is(err, a2a.ErrUnsupportedContentType) || !strings.HasPrefix(err.Error(), "configuration.acceptedOutputModes: ")):
			t.Errorf("%s, skill %q, accepted %q: %v, want ErrUnsupportedContentType about configuration.acceptedOutputModes",
				tt.agent, tt.skill, tt.accepted, err)
		case err == nil:
			made++
		}
	}
	if page, _ := b.List(t.Context(), alice, &op.List{PageSize: 10}); page.TotalSize != made {
		t.Errorf("%d tasks, want the %d that were accepted", page.TotalSize, made)
	}
}

// A follow-up is checked like a first message.
func TestAcceptedOutputModesOfAFollowUp(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, named("main"))
	card := &a2a.AgentCard{Name: "ask", DefaultOutputModes: []string{"text/plain"}}
	if err := b.Register(engine.Agent{Name: "ask", Card: card, Executor: asking()}); err != nil {
		t.Fatal(err)
	}
	first := text("a")
	first.Agent = "ask"
	id := b.send(first).Head.ID
	r := reply(id, "b")
	r.AcceptedOutputModes = []string{"image/png"}
	if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, a2a.ErrUnsupportedContentType) {
		t.Errorf("Send = %v, want ErrUnsupportedContentType", err)
	}
	if got := b.get(id); got.Head.Version != 2 {
		t.Errorf("version %d after a message that was refused, want 2", got.Head.Version)
	}
}
