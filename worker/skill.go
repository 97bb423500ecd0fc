package worker

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// Skill is a handler for one skill of a Worker. The agent's card lists the skill, and the
// worker passes the messages that name it to the handler.
type Skill struct {
	// AgentSkill is the entry in the card. Only its ID is required; IDs are compared without
	// regard to case. Empty fields are taken from the worker's card.
	a2a.AgentSkill
	// Handler performs the tasks. It is required.
	Handler a2asrv.AgentExecutor
}

// router is an executor that passes each run to the handler of the requested skill.
type router struct{ skills []Skill }

func newRouter(skills []Skill) (*router, error) {
	seen := map[string]bool{}
	for i, s := range skills {
		id := strings.ToLower(s.ID)
		switch {
		case id == "":
			return nil, fmt.Errorf("number %d of Skills has no ID", i+1)
		case s.Handler == nil:
			return nil, fmt.Errorf("skill %q has no Handler", s.ID)
		case seen[id]:
			return nil, fmt.Errorf("skill %q has two handlers", s.ID)
		}
		seen[id] = true
	}
	return &router{skills}, nil
}

// card returns c with the skills that have handlers.
func (r *router) card(c *a2a.AgentCard) *a2a.AgentCard {
	own := *c
	own.Skills = slices.Clone(c.Skills)
	for _, s := range r.skills {
		i := slices.IndexFunc(own.Skills, func(have a2a.AgentSkill) bool { return strings.EqualFold(have.ID, s.ID) })
		if i < 0 {
			own.Skills = append(own.Skills, filled(s.AgentSkill, a2a.AgentSkill{ID: s.ID, Name: s.ID, Description: s.ID}))
			continue
		}
		own.Skills[i] = filled(s.AgentSkill, own.Skills[i])
	}
	return &own
}

// filled returns s with its empty fields taken from other.
func filled(s, other a2a.AgentSkill) a2a.AgentSkill {
	s.ID = other.ID
	if s.Name == "" {
		s.Name = other.Name
	}
	if s.Description == "" {
		s.Description = other.Description
	}
	for _, list := range []struct{ mine, others *[]string }{
		{&s.Tags, &other.Tags},
		{&s.Examples, &other.Examples},
		{&s.InputModes, &other.InputModes},
		{&s.OutputModes, &other.OutputModes},
	} {
		if len(*list.mine) == 0 {
			*list.mine = *list.others
		}
	}
	return s
}

// Traits implements agent.Described with the traits that all handlers have in common.
func (r *router) Traits() agent.Traits {
	t := agent.Traits{AfterCrash: agent.Repeat}
	for _, s := range r.skills {
		u := agent.TraitsOf(s.Handler)
		if !u.AfterCrash.Repeats(false) {
			t.AfterCrash = agent.Fail
		}
		t.Serial = t.Serial || u.Serial
	}
	return t
}

// handler returns the handler for the skill that a run names. If there is only one handler,
// messages need not name a skill.
func (r *router) handler(ctx context.Context) (*Skill, error) {
	asked := ""
	if c := agent.CallFrom(ctx); c != nil {
		asked = c.Skill
	}
	if asked == "" && len(r.skills) == 1 {
		return &r.skills[0], nil
	}
	var ids []string
	for i := range r.skills {
		if strings.EqualFold(r.skills[i].ID, asked) {
			return &r.skills[i], nil
		}
		ids = append(ids, r.skills[i].ID)
	}
	if asked == "" {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "name a skill: "+strings.Join(ids, ", "))
	}
	return nil, a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf("there is no skill %q here: %s", asked, strings.Join(ids, ", ")))
}

// Execute implements a2asrv.AgentExecutor.
func (r *router) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		s, err := r.handler(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		done := false
		for ev, err := range s.Handler.Execute(ctx, x) {
			done = done || err != nil || endsRun(ev)
			if !yield(ev, err) {
				return
			}
		}
		if !done && ctx.Err() == nil {
			text := fmt.Sprintf("the handler of skill %q returned no result and no error", s.ID)
			yield(agent.Status(x, a2a.TaskStateFailed, a2a.NewTextPart(text)), nil)
		}
	}
}

// endsRun reports whether a run may end after an event.
func endsRun(ev a2a.Event) bool {
	if _, ok := ev.(*a2a.Message); ok {
		return true
	}
	s := stateAfter(ev)
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// Cancel implements a2asrv.AgentExecutor.
func (r *router) Cancel(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	s, err := r.handler(ctx)
	if err != nil {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
	return s.Handler.Cancel(ctx, x)
}
