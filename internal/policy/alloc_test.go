package policy_test

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

type policyAgent = task.Agent

// many returns a policy of realistic size: twenty rules.
func many(t testing.TB) *policy.Policy {
	list := []policy.Rule{
		{Deny: true, Ops: []string{"*"}, Roles: []string{"trainee"}, Agents: []string{"payroll"}},
		{Deny: true, Ops: []string{"send", "stream"}, Who: policy.Anybody, Skills: []string{"erase"}},
	}
	for i := range 18 {
		list = append(list, policy.Rule{
			Ops: []string{"send", "get"}, Owners: []string{fmt.Sprint("org", i)}, Agents: []string{fmt.Sprint("agent-", i), "common-*"}, Skills: []string{"a", "b"},
		})
	}
	return made(t, list...)
}

var (
	last = &auth.Principal{ID: "x", Org: "org17", Roles: []string{"staff", "partner"}}
	asks = policy.Request{Op: policy.Send, Agent: "common-1", Begins: true, Skills: []string{"a", "b"}}
)

// Every request is decided, so a decision must not allocate.
func TestDecidingDoesNotAllocate(t *testing.T) {
	p := many(t)
	n := testing.AllocsPerRun(100, func() {
		r := asks
		if !p.Allows(last, &r) || p.Denies(last, &r) || !p.Sees(last, "agent-17") || p.Everywhere(last, policy.Send) {
			t.Fatal("decided wrongly")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkAllows(b *testing.B) {
	p := many(b)
	for b.Loop() {
		r := asks
		if !p.Allows(last, &r) {
			b.Fatal("denied")
		}
	}
}
