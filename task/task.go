// Package task has the names with which the other packages speak of tasks: the states of the
// protocol, the owner of a task, and the name of its agent.
//
// # Concurrency
//
// All types are values.
package task

import "strings"

// Owner is the opaque scope that a task belongs to. Callers with different owners never see
// each other's tasks. The wire id of a task is unique within its owner only.
type Owner string

// Agent is the name of an agent in the hub.
type Agent string

// AgentNamed derives the name of an agent from its title: small letters and digits, with a dash
// for every run of other characters between them.
func AgentNamed(title string) Agent {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		} else {
			gap = true
		}
	}
	return Agent(b.String())
}
