package policy_test

import (
	"fmt"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/policy"
)

// A hub whose partners may use only the translator.
func Example() {
	rules, err := policy.New(policy.Rules{List: []policy.Rule{{
		Ops: []string{"send", "stream", "get"}, Roles: []string{"partner"}, Agents: []string{"translator"},
	}}})
	if err != nil {
		panic(err)
	}
	hub := &parley.Hub{Policy: rules}
	ann := &auth.Principal{ID: "ann", Roles: []string{"partner"}}
	for _, o := range []policy.Op{policy.Send, policy.Cancel} {
		v := hub.Policy.Explain(ann, &policy.Request{Op: o, Agent: "translator"})
		fmt.Println(o, v.Allowed, v.Reason)
	}
	// Output:
	// send true allowed by the rule at number 1
	// cancel false no rule allows it
}
