package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/task"
)

// World describes the hub of a policy, for Remarks.
type World struct {
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

// Remark is a finding about a policy, for the operator.
type Remark struct {
	// At is the position of the rule; empty for a remark about all rules.
	At string
	// Text describes the finding.
	Text string
	// Wide is set if a rule allows much, and not set if it has no effect.
	Wide bool
	// Unsure is set if the finding depends on an incomplete World.
	Unsure bool
}

// Remarks returns rules that are overly broad, rules that never match, and agents to which no
// caller may send.
func (p *Policy) Remarks(w *World) []Remark {
	if p == nil {
		return nil
	}
	var out []Remark
	t := p.table()
	for i, c := range t.rules {
		out = append(out, c.opens()...)
		out = append(out, t.idle(i)...)
		out = append(out, c.strangers(w)...)
	}
	return append(out, t.alone(w)...)
}

// everybody reports whether the rule applies to all callers, or to all with credentials.
func (c *rule) everybody() bool {
	return c.who != Anonymous && len(c.callers)+len(c.roles)+len(c.owners) == 0
}

// grave are the operations that change or undo data on which others rely.
var grave = maskOf(func(o Op) bool {
	return slices.Contains([]Op{Cancel, PushCreate, PushDelete, MemoryWrite, InboxWrite}, o)
})

// opens returns remarks on a rule that allows much to many callers.
func (c *rule) opens() []Remark {
	if c.deny {
		return nil
	}
	var out []Remark
	admin := maskOf(Op.Admin)
	told := func(format string, args ...any) {
		out = append(out, Remark{At: c.place(), Text: fmt.Sprintf(format, args...), Wide: true})
	}
	if c.ops&admin != 0 && c.everybody() {
		told("every caller with credentials may %s", (c.ops & admin).String())
	} else if c.ops&admin == admin {
		told("whoever it names may do all that an administrator may (admin.*)")
	}
	nobody := c.who == Anonymous || c.everybody() && c.who != Authenticated
	switch g := c.ops & grave; {
	case nobody && g != 0:
		told("callers without credentials may %s", g.String())
	case nobody && c.ops&(1<<Send|1<<Stream) != 0 && c.agents.all():
		told("callers without credentials may send to every agent")
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

// idle returns a remark if another rule makes rule i superfluous.
func (t *table) idle(i int) []Remark {
	c := t.rules[i]
	for j, other := range t.rules {
		switch {
		case i == j || !other.covers(c):
		case other.deny && !c.deny:
			return []Remark{{At: c.place(), Text: "never applies: all of it is denied at " + other.place()}}
		case other.deny == c.deny && (!c.covers(other) || j < i):
			return []Remark{{At: c.place(), Text: "changes nothing: all of it stands at " + other.place()}}
		}
	}
	return nil
}

// strangers returns remarks on names in a rule that are unknown in the hub.
func (c *rule) strangers(w *World) []Remark {
	var names, skills []string
	for name, list := range w.Agents {
		names = append(names, string(name))
		if len(c.agents) == 0 || c.agents.match(string(name)) {
			skills = append(skills, list...)
		}
	}
	local := []string{auth.Local}
	var out []Remark
	for _, look := range []struct {
		what   string
		named  patterns
		have   []string
		unsure bool
	}{
		{"agent", c.agents, names, w.MoreAgents},
		{"skill", c.skills, skills, w.MoreAgents},
		{"caller", c.callers, append(local, w.Callers...), w.MoreCallers},
		{"role", c.roles, w.Roles, w.MoreCallers},
		{"owner", c.owners, append(local, w.Owners...), w.MoreCallers},
	} {
		for _, p := range look.named {
			if look.what == "caller" && p.ofFamily(w.Families) || slices.ContainsFunc(look.have, p.matchesFold) {
				continue
			}
			out = append(out, Remark{
				At: c.place(), Unsure: look.unsure,
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

// alone returns a remark for each agent to which no caller may send.
func (t *table) alone(w *World) []Remark {
	var out []Remark
	for _, name := range slices.Sorted(maps.Keys(w.Agents)) {
		if !t.called(name) {
			out = append(out, Remark{Text: fmt.Sprintf("nobody may send to the agent %q", name)})
		}
	}
	return out
}

// called reports whether some caller may send to an agent.
func (t *table) called(name task.Agent) bool {
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
