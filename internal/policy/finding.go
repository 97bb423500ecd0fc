package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// Facts describes the hub of a policy, for Findings.
type Facts struct {
	// Agents are the known agents with their skills.
	Agents map[task.Agent][]string
	// MoreAgents means that there may be other agents, from a directory or a bus.
	MoreAgents bool
	// Callers, Roles and Owners are those that keys and token issuers assign.
	Callers, Roles, Owners []string
	// Families are prefixes of the ids of further callers, such as "corp:" for those of a token
	// issuer.
	Families []string
	// MoreCallers means that there may be callers with other ids, roles or owners.
	MoreCallers bool
}

// Finding is a weakness or an error of a policy, for the operator.
type Finding struct {
	// At is the position of the rule; empty for a finding about all rules.
	At string
	// Text describes the finding.
	Text string
	// Wide is set if a rule allows much, and not set if it has no effect.
	Wide bool
	// Unsure is set if the finding depends on an incomplete Facts.
	Unsure bool
}

// Findings returns rules that are overly broad, rules that never match, and agents to which no
// caller may send.
func (p *Policy) Findings(f *Facts) []Finding {
	if p == nil {
		return nil
	}
	var out []Finding
	t := p.table()
	for i, c := range t.rules {
		out = append(out, c.broad()...)
		out = append(out, t.ineffective(i)...)
		out = append(out, c.unknownNames(f)...)
	}
	return append(out, t.unreachable(f)...)
}

// matchesAll reports whether the rule applies to all callers, or to all with credentials.
func (c *rule) matchesAll() bool {
	return c.caller != Anonymous && len(c.callers)+len(c.roles)+len(c.owners) == 0
}

// grave are the operations that change or undo data on which others rely.
var grave = maskOf(func(o Op) bool {
	return slices.Contains([]Op{Cancel, PushCreate, PushDelete, MemoryWrite, InboxWrite}, o)
})

// broad returns findings on a rule that allows much to many callers.
func (c *rule) broad() []Finding {
	if c.deny {
		return nil
	}
	var out []Finding
	admin := maskOf(Op.Admin)
	add := func(format string, args ...any) {
		out = append(out, Finding{At: c.position(), Text: fmt.Sprintf(format, args...), Wide: true})
	}
	if c.ops&admin != 0 && c.matchesAll() {
		add("every caller with credentials may %s", (c.ops & admin).String())
	} else if c.ops&admin == admin {
		add("the callers that it names may do all that an administrator may (admin.*)")
	}
	anonymous := c.caller == Anonymous || c.matchesAll() && c.caller != Authenticated
	switch g := c.ops & grave; {
	case anonymous && g != 0:
		add("callers without credentials may %s", g.String())
	case anonymous && c.ops&(1<<Send|1<<Stream) != 0 && c.agents.all():
		add("callers without credentials may send to every agent")
	}
	return out
}

// String lists the operations.
func (m mask) String() string {
	var all []string
	for o := range operations {
		if m.has(o) {
			all = append(all, o.String())
		}
	}
	return strings.Join(all, ", ")
}

// ineffective returns a finding if another rule makes rule i superfluous.
func (t *table) ineffective(i int) []Finding {
	c := t.rules[i]
	for j, other := range t.rules {
		switch {
		case i == j || !other.covers(c):
		case other.deny && !c.deny:
			return []Finding{{At: c.position(), Text: "never applies: all of it is denied at " + other.position()}}
		case other.deny == c.deny && (!c.covers(other) || j < i):
			return []Finding{{At: c.position(), Text: "changes nothing: all of it stands at " + other.position()}}
		}
	}
	return nil
}

// unknownNames returns findings on names in a rule that are unknown in the hub.
func (c *rule) unknownNames(f *Facts) []Finding {
	var names, skills []string
	for name, list := range f.Agents {
		names = append(names, string(name))
		if len(c.agents) == 0 || c.agents.match(string(name)) {
			skills = append(skills, list...)
		}
	}
	local := []string{auth.Local}
	var out []Finding
	for _, look := range []struct {
		what   string
		named  patterns
		have   []string
		unsure bool
	}{
		{"agent", c.agents, names, f.MoreAgents},
		{"skill", c.skills, skills, f.MoreAgents},
		{"caller", c.callers, append(local, f.Callers...), f.MoreCallers},
		{"role", c.roles, f.Roles, f.MoreCallers},
		{"owner", c.owners, append(local, f.Owners...), f.MoreCallers},
	} {
		for _, p := range look.named {
			if look.what == "caller" && p.ofFamily(f.Families) || slices.ContainsFunc(look.have, p.matchesFold) {
				continue
			}
			out = append(out, Finding{
				At: c.position(), Unsure: look.unsure,
				Text: fmt.Sprintf("names the %s %q, which the configuration does not have", look.what, p),
			})
		}
	}
	return out
}

// ofFamily reports whether p may match an id with one of the prefixes.
func (p pattern) ofFamily(families []string) bool {
	return slices.ContainsFunc(families, func(f string) bool {
		return strings.HasPrefix(p.text, f) || p.open && strings.HasPrefix(f, p.text)
	})
}

// unreachable returns a finding for each agent to which no caller may send.
func (t *table) unreachable(f *Facts) []Finding {
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(f.Agents)) {
		if !t.reachable(name) {
			out = append(out, Finding{Text: fmt.Sprintf("no caller may send to the agent %q", name)})
		}
	}
	return out
}

// reachable reports whether some caller may send to an agent.
func (t *table) reachable(name task.Agent) bool {
	for _, o := range []Op{Send, Stream} {
		at := &t.byOp[o]
		for _, c := range at.grants {
			if !c.agents.match(string(name)) {
				continue
			}
			there := *c
			there.ops, there.agents = 1<<o, patterns{{text: string(name)}}
			if !slices.ContainsFunc(at.denials, func(d *rule) bool { return d.covers(&there) }) {
				return true
			}
		}
	}
	return false
}
