package engine

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// checkModes checks the media types of a message, and those that its caller accepts in the
// answer, against the agent's card or the requested skill (specification §3.3.2).
func (e *Engine) checkModes(a *Agent, r *op.Send) error {
	if err := e.advise(a, checkInput(a, r)); err != nil {
		return err
	}
	return e.advise(a, checkOutput(a, r))
}

// advise returns err, unless the media types of a are advisory: then err is logged.
func (e *Engine) advise(a *Agent, err error) error {
	if err == nil || !a.AdvisoryModes {
		return err
	}
	var f *apierror.Error
	if !errors.As(err, &f) {
		return err
	}
	if reason := f.Violations[0].Problem; e.advised.first(advice{a.Name, reason}) {
		e.cfg.Logger.Warn("the agent's card does not list the media types of the message", "agent", a.Name, "reason", reason)
	}
	return nil
}

// maxAdvised limits the refusals that the log notes for all agents together.
const maxAdvised = 1000

// advised holds the refusals that were logged. The zero value is empty.
type advised struct {
	mu  sync.Mutex // guards the field below
	all map[advice]struct{}
}

// advice is a refusal by a card.
type advice struct {
	agent  task.Agent
	reason string
}

// first reports whether a refusal is to be logged: only once, and only up to maxAdvised.
func (d *advised) first(a advice) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, had := d.all[a]; had || len(d.all) >= maxAdvised {
		return false
	}
	if d.all == nil {
		d.all = make(map[advice]struct{})
	}
	d.all[a] = struct{}{}
	return true
}

// checkInput checks the media types of a message. An agent that lists none accepts all.
func checkInput(a *Agent, r *op.Send) error {
	m := &r.Message
	if !slices.ContainsFunc(m.MediaTypes, func(mt string) bool { return mt != "" }) {
		return nil
	}
	modes := inputModes(a, m.Skill)
	if len(modes) == 0 {
		return nil
	}
	for i, mt := range m.MediaTypes {
		if mt != "" && !accepted(modes, mt) {
			return apierror.Field(a2a.ErrUnsupportedContentType, partField(i), "%q is not one of the media types that agent %q accepts: %s",
				clip(mt), a.Name, strings.Join(modes, ", "))
		}
	}
	return nil
}

// checkOutput checks that the caller accepts at least one media type of the agent's answers. A
// caller that lists none accepts all, and an agent that lists none may send all.
func checkOutput(a *Agent, r *op.Send) error {
	if len(r.AcceptedOutputModes) == 0 {
		return nil
	}
	modes := outputModes(a, r.Message.Skill)
	for _, want := range r.AcceptedOutputModes {
		if len(modes) == 0 || satisfied(modes, want) {
			return nil
		}
	}
	return apierror.Field(a2a.ErrUnsupportedContentType, "configuration.acceptedOutputModes",
		"agent %q produces none of these; it produces: %s", a.Name, strings.Join(modes, ", "))
}

// inputModes returns the media types that the requested skill accepts, and outputModes those
// that it may produce. Without a requested skill, both return those of all skills: the protocol
// has no field for a skill. An empty result means that they are unknown.
func inputModes(a *Agent, skill string) []string {
	return modesOf(a, skill, a.Card.DefaultInputModes, func(s *a2a.AgentSkill) []string { return s.InputModes })
}

func outputModes(a *Agent, skill string) []string {
	return modesOf(a, skill, a.Card.DefaultOutputModes, func(s *a2a.AgentSkill) []string { return s.OutputModes })
}

func modesOf(a *Agent, skill string, defaults []string, of func(*a2a.AgentSkill) []string) []string {
	if s := skillNamed(a, skill); s != nil && len(of(s)) > 0 {
		return of(s)
	}
	if len(defaults) == 0 || skill != "" {
		return defaults
	}
	modes := slices.Clone(defaults)
	for i := range a.Card.Skills {
		for _, m := range of(&a.Card.Skills[i]) {
			if !slices.Contains(modes, m) {
				modes = append(modes, m)
			}
		}
	}
	return modes
}

// skillNamed returns the skill of a with the given id, or nil. Ids ignore case.
func skillNamed(a *Agent, id string) *a2a.AgentSkill {
	for i := range a.Card.Skills {
		if strings.EqualFold(a.Card.Skills[i].ID, id) {
			return &a.Card.Skills[i]
		}
	}
	return nil
}

// satisfied reports whether one of modes satisfies a caller that wants a media type. Either side
// may be "*/*" or "image/*". Callers of older versions send "text" for any text; other words
// without a slash are unknown, and match everything.
func satisfied(modes []string, want string) bool {
	want = strings.TrimSpace(want)
	switch {
	case strings.EqualFold(want, "text"):
		want = "text/*"
	case !strings.Contains(want, "/"):
		return true
	}
	if accepted(modes, want) {
		return true
	}
	for _, m := range modes {
		if accepted([]string{mediaRange(want)}, m) {
			return true
		}
	}
	return false
}

// mediaRange returns a media type without its parameters.
func mediaRange(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.TrimSpace(s)
}

// accepted reports whether modes include a media type, without its parameters. Modes may be
// "*/*", "image/*" or exact.
func accepted(modes []string, mediaType string) bool {
	mediaType = strings.ToLower(mediaRange(mediaType))
	kind, _, _ := strings.Cut(mediaType, "/")
	for _, m := range modes {
		m = strings.ToLower(mediaRange(m))
		if m == mediaType || m == "*/*" || m == "*" || m == "text" && mediaType == "text/plain" || m == kind+"/*" {
			return true
		}
	}
	return false
}
