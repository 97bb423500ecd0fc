package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/approval"
	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/trustfile"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/notify"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/trust"
)

// trustParts are the parts of a hub that record its trust in callers and ask its owner.
type trustParts struct {
	inbox    *inbox.Inbox
	registry *trust.Registry
	file     *trustfile.File
	gate     *approval.Wrapper
	// activity records the activity of the owner.
	activity assistant.Activity
}

// openTrust creates the parts, and reads the trust levels of callers.
func (h *Hub) openTrust(ctx context.Context) error {
	c, t := &h.cfg.Trust, &h.trust
	if c.Summarizer != "" && !h.named(c.Summarizer) {
		return configf("trust.summarizer: unknown agent %q in %s", c.Summarizer, source(h.cfg))
	}
	t.inbox = &inbox.Inbox{Store: h.stores.inbox, Logger: h.logger}
	t.registry = &trust.Registry{Store: h.stores.trust, Logger: h.logger}
	t.file = &trustfile.File{Paths: trustfile.Paths(c.File, h.dir.Path()), Logger: h.logger}
	if c.Write {
		t.registry.Write = t.file.Write
	}
	if err := t.registry.Load(ctx); err != nil {
		return err
	}
	if err := t.file.Load(t.registry.Follow); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	t.gate = &approval.Wrapper{
		Trust: t.registry, Inbox: t.inbox, Notes: noteStore{h.memory.notes, cmp.Or(task.Owner(h.cfg.Memory.Owner), auth.Local)}, History: h.memory.turns, Summarizer: task.Agent(c.Summarizer), Complete: c.Refused == "completed",
		NoApprovals:  c.Unapproved == "observe",
		ApprovalTime: duration(c.ApprovalTime), KeepAlive: keepAlive(duration(h.cfg.Engine.AgentSilence)),
		// Other machines may reach this address without credentials or through a proxy, so
		// callers without credentials may not be the owner.
		Closed: h.cfg.AllowAnonymous || h.cfg.TrustForwarded,
	}
	return nil
}

// noteStore stores refused requests in the memory of the hub's owner.
type noteStore struct {
	notes *memory.Notes
	owner task.Owner
}

func (k noteStore) Keep(ctx context.Context, key, text string, ttl time.Duration) error {
	if most := k.notes.MaxValue(); len(text) > most {
		text = text[:most]
	}
	_, err := k.notes.Set(ctx, &memory.Set{
		Owner: k.owner, Key: key, Value: strings.ToValidUTF8(text, "\uFFFD"), Category: "a2a-inbox", TTL: ttl,
	})
	return err
}

// named reports whether the configuration or the built-in agents contain an agent of this name.
func (h *Hub) named(name string) bool {
	own := func(a builtin.Agent) bool { return string(a.Name) == name }
	return h.cfg.Agent(task.Agent(name)) != nil || h.cfg.Builtin() && slices.ContainsFunc(builtin.Agents(), own)
}

// keepAlive returns the interval at which a run that waits for a person reports that it is
// alive, for a hub that ends a run after the given silence.
func keepAlive(silence time.Duration) time.Duration {
	if silence <= 0 {
		return time.Minute
	}
	return min(time.Minute, silence/3)
}

// guard puts the executor of an agent behind the gate, if the configuration says so.
func (h *Hub) guard(a *config.Agent, e *engine.Agent) {
	skills, ok := a.Gated()
	if h.gated(e.Name) {
		skills, ok = nil, true
	}
	if !ok {
		return
	}
	p := approval.Policy{Gated: skills}
	for i := range e.Card.Skills {
		if a.Elsewhere() && len(a.Skills) == 0 {
			break // its skills are not known yet
		}
		p.Skills = append(p.Skills, e.Card.Skills[i].ID)
	}
	g := *h.trust.gate
	if silence := duration(a.Silence); silence > 0 {
		g.KeepAlive = min(g.KeepAlive, keepAlive(silence))
	}
	e.Executor = g.Wrap(e.Executor, p)
}

// guardRemote returns the executor of a remote agent of the configuration, behind the gate
// if the configuration says so. The directory replaces the first executor by it.
func (h *Hub) guardRemote(name task.Agent, x a2asrv.AgentExecutor) a2asrv.AgentExecutor {
	a := h.cfg.Agent(name)
	if a == nil {
		return x
	}
	e := engine.Agent{Name: name, Card: a.Card(), Executor: x}
	h.guard(a, &e)
	return e.Executor
}

// gated reports whether the configuration gates an agent by its name, whatever its source.
func (h *Hub) gated(name task.Agent) bool { return slices.Contains(h.cfg.Trust.Gated, string(name)) }

// guardNamed puts an agent of the hub behind the gate if the configuration gates it by name,
// unless it is gated already.
func (h *Hub) guardNamed(e *engine.Agent) {
	if _, ok := e.Executor.(adminapi.GatedAgent); ok || !h.gated(e.Name) {
		return
	}
	var p approval.Policy
	for i := range e.Card.Skills {
		p.Skills = append(p.Skills, e.Card.Skills[i].ID)
	}
	e.Executor = h.trust.gate.Wrap(e.Executor, p)
}

// guardKnown returns the executor of an agent that only the directory knows, behind the gate if
// its entry or the configuration says so.
func (h *Hub) guardKnown(s *directory.Spec, x a2asrv.AgentExecutor) a2asrv.AgentExecutor {
	p := approval.Policy{Gated: s.GatedSkills}
	switch {
	case s.Trust == directory.Gated || h.gated(s.Name):
		p.Gated = nil
	case len(p.Gated) > 0:
	case s.Trust == "" && h.cfg.Directory.Trust == string(directory.Gated):
	default:
		return x
	}
	for i := range s.Skills {
		p.Skills = append(p.Skills, s.Skills[i].ID)
	}
	return h.trust.gate.Wrap(x, p)
}

// missGated warns of gated names without an agent: the name may be mistyped, and another agent
// not gated.
func (h *Hub) missGated() {
	for _, name := range h.cfg.Trust.Gated {
		if _, ok := h.engine.Agent(task.Agent(name)); !ok {
			h.logger.Warn("trust.gated names an unknown agent", "agent", name)
		}
	}
}

// assistantAgents returns the agents that act for the owner, if they are configured.
func (h *Hub) assistantAgents() ([]engine.Agent, error) {
	c := &h.cfg.FrontDesk
	if !c.Serve {
		return nil, nil
	}
	hours, err := c.Times()
	if err != nil {
		return nil, configf("front_desk: %w", err)
	}
	activity := &h.trust.activity
	activity.Busy = h.busy
	desk := &assistant.Assistant{Inbox: h.trust.inbox, Notes: h.stores.agents, History: h.memory.turns, Presence: activity.Presence, Hours: hours}
	var all []engine.Agent
	for _, a := range desk.Agents() {
		if !c.Open() {
			a.Executor = h.trust.gate.Wrap(a.Executor, approval.Policy{Skills: []string{string(a.Name)}})
		}
		all = append(all, engine.Agent{Name: a.Name, Card: a.Card, Executor: a.Executor})
	}
	return all, nil
}

// busy reports whether a task of the owner is running.
func (h *Hub) busy(ctx context.Context) bool {
	page, err := h.stores.tasks.List(ctx, &task.Query{Owner: auth.Local, State: task.Working, Limit: 1})
	return err == nil && len(page.Heads) > 0
}

// trustServices returns the services that follow the trust file and notify of new items.
func (h *Hub) trustServices() []hub.Service {
	t := &h.trust
	all := []hub.Service{
		{Name: "trust file", Run: func(ctx context.Context) error { t.file.Run(ctx, &h.files, t.registry.Follow); return nil }},
	}
	if c := &h.cfg.Trust; c.NotifyURL != "" || len(c.NotifyCommand) > 0 {
		n := &notify.Notifier{Inbox: t.inbox, URL: c.NotifyURL, Command: c.NotifyCommand, Env: config.Variables(c.NotifyEnv), Logger: h.logger}
		all = append(all, hub.Service{Name: "notices", Run: n.Run})
	}
	return all
}
