package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

type agentName = task.Agent

// named completes with its name.
func named(name string) *executor {
	return &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateCompleted, name), nil)
	}}
}

// gallery returns an engine with three agents of different input media types.
func gallery(t *testing.T) *bench {
	b := start(t, engine.Config{}, named("main"))
	for _, card := range []*a2a.AgentCard{
		{Name: "texts", DefaultInputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{{ID: "read"}, {ID: "look", InputModes: []string{"image/*"}}}},
		{Name: "open"},
	} {
		if err := b.Register(engine.Agent{Name: agentName(card.Name), Card: card, Executor: named(card.Name)}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestTheAgentOfAMessage(t *testing.T) {
	t.Parallel()
	b := gallery(t)
	tests := []struct {
		name, agent, tenant, skill, want string
	}{
		{name: "nothing named", want: "main"},
		{name: "path", agent: "texts", want: "texts"},
		{name: "tenant", tenant: "open", want: "open"},
		{name: "path and tenant agree", agent: "open", tenant: "open", want: "open"},
		{name: "skill alone finds its agent", skill: "read", want: "texts"},
		{name: "case of a skill does not count", skill: "LOOK", want: "texts"},
		{name: "an agent without skills takes any", agent: "open", skill: "whatever", want: "open"},
	}
	for _, tt := range tests {
		r := text(tt.name)
		r.Agent, r.Tenant, r.Message.Skill = agentName(tt.agent), tt.tenant, tt.skill
		if got := statusText(t, b.send(r)); got != tt.want {
			t.Errorf("%s: agent %q answered, want %q", tt.name, got, tt.want)
		}
	}
	unknown := text("x")
	unknown.Agent, unknown.Message.Skill = "texts", "sing"
	if _, err := b.Send(t.Context(), alice, unknown); !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "read, look") {
		t.Errorf("unknown skill: %v, want ErrInvalidParams that names the skills there are", err)
	}
}

func TestInputModesOfASkillOverrideTheDefaults(t *testing.T) {
	t.Parallel()
	b := gallery(t)
	tests := []struct {
		skill string
		types []string
		field string // of the violation; empty if accepted
	}{
		{"", []string{""}, ""},
		{"", []string{"text/plain; charset=utf-8"}, ""},
		{"", []string{"TEXT/Plain"}, ""},
		{"", []string{"text/plain", "image/png"}, ""}, // a skill accepts them
		{"", []string{"text/plain", "audio/wav"}, "message.parts[1]"},
		{"read", []string{"image/png"}, "message.parts[0]"},
		{"look", []string{"image/png"}, ""},
		{"look", []string{"text/plain"}, "message.parts[0]"},
	}
	for _, tt := range tests {
		r := text("x")
		r.Agent, r.Message.Skill, r.Message.MediaTypes = "texts", tt.skill, tt.types
		_, err := b.Send(t.Context(), alice, r)
		switch {
		case tt.field == "" && err != nil:
			t.Errorf("skill %q, types %v: %v", tt.skill, tt.types, err)
		case tt.field != "" && (!errors.Is(err, a2a.ErrUnsupportedContentType) || !strings.HasPrefix(err.Error(), tt.field)):
			t.Errorf("skill %q, types %v: %v, want ErrUnsupportedContentType about %s", tt.skill, tt.types, err, tt.field)
		}
	}
	if page, _ := b.List(t.Context(), alice, &op.List{PageSize: 10}); page.TotalSize != 5 {
		t.Errorf("%d tasks, want the 5 that were accepted", page.TotalSize)
	}
}
