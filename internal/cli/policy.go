package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/task"
)

// policyFacts collects the facts about the policy.
func policyFacts(cfg *config.Config, f *doctor.Facts) {
	var err error
	if f.Policy, err = cfg.Policy.Load(); err != nil {
		f.Policy, f.NoPolicy = nil, err.Error()
	}
	f.World = factsOf(cfg)
	f.World.MoreCallers = f.NoKeys != ""
	for _, k := range f.Keys {
		w := &f.World
		w.Callers, w.Roles, w.Owners = append(w.Callers, k.Agent), append(w.Roles, k.Roles...), append(w.Owners, k.Owners...)
	}
}

// factsOf returns the agents and callers of a configuration, without the callers of keys.
func factsOf(cfg *config.Config) policy.Facts {
	w := policy.Facts{
		Agents: make(map[task.Agent][]string), Roles: []string{auth.RoleAdmin},
		MoreAgents: cfg.Bus.URL != "",
	}
	for _, family := range registry.Added[config.CallerFamily]() {
		w.Families = append(w.Families, string(family))
	}
	for _, named := range registry.Added[config.NamesAgentFiles]() {
		w.MoreAgents = w.MoreAgents || named(cfg)
	}
	if cfg.Builtin() {
		for _, a := range builtin.Agents() {
			w.Agents[a.Name] = []string{string(a.Name)}
		}
	}
	if cfg.FrontDesk.Serve {
		for _, a := range new(assistant.Assistant).Agents() {
			for i := range a.Card.Skills {
				w.Agents[a.Name] = append(w.Agents[a.Name], a.Card.Skills[i].ID)
			}
		}
	}
	for i := range cfg.Agents {
		a := &cfg.Agents[i]
		skills := []string{}
		for j := range a.Skills {
			skills = append(skills, a.Skills[j].ID)
		}
		if len(skills) == 0 {
			skills = []string{a.Name}
		}
		w.Agents[task.Agent(a.Name)] = skills
	}
	for i := range cfg.Auth.Tokens {
		t := &cfg.Auth.Tokens[i]
		w.Families = append(w.Families, t.Name+":")
		w.Owners = slices.AppendSeq(append(w.Owners, t.Owner), maps.Values(t.Owners))
		w.Roles = slices.AppendSeq(slices.AppendSeq(w.Roles, maps.Values(t.Roles)), maps.Values(t.Scopes))
	}
	for i := range cfg.Auth.Certificates {
		c := &cfg.Auth.Certificates[i]
		w.Callers, w.Roles = append(w.Callers, c.AgentID), append(w.Roles, c.Roles...)
		w.Owners = append(append(w.Owners, c.Owner), c.Owners...)
		if c.Each != "" {
			w.Families = append(w.Families, c.Name+":")
		}
	}
	return w
}

// explain prints whether the policy allows the operation of --explain, and by which rule.
func (c *doctorCmd) explain(o *OS, cfg *config.Config) error {
	rules, err := cfg.Policy.Load()
	if err != nil {
		return err
	}
	t, err := questionOf(c.Explain)
	if err != nil {
		return err
	}
	if t.Skill == "" {
		t.Skills = factsOf(cfg).Agents[task.Agent(t.Agent)]
	}
	who, r, err := t.Subject()
	if err != nil {
		return usagef("--explain: %w", err)
	}
	v := rules.Explain(who, r)
	answer := "denied"
	if v.Allowed {
		answer = "allowed"
	}
	_, err = fmt.Fprintf(o.Stdout, "%-8s %s: %s\n", answer, t, v.Reason)
	return err
}

// questionOf parses a text like "caller=ann op=send agent=echo".
func questionOf(text string) (*policy.Test, error) {
	t := new(policy.Test)
	keys := map[string]*string{"caller": &t.Caller, "owner": &t.Owner, "op": &t.Op, "agent": &t.Agent, "skill": &t.Skill}
	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, "=")
		field := keys[key]
		switch {
		case !ok || value == "":
			return nil, usagef("--explain: %q must be KEY=VALUE, such as op=send", word)
		case key == "role":
			t.Roles = append(t.Roles, value)
		case field == nil:
			return nil, usagef("--explain: unknown key %q%s; the keys are caller, role, owner, op, agent and skill", key, meant(key))
		case *field != "":
			return nil, usagef("--explain: duplicate %s", key)
		default:
			*field = value
		}
	}
	t.Op = cmp.Or(t.Op, policy.Send.String())
	return t, nil
}

func meant(key string) string {
	if best := suggest.Nearest(key, []string{"caller", "role", "owner", "op", "agent", "skill"}); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
