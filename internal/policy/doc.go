// Package policy decides which caller may do what with which agent.
//
// # Overview
//
// A [Policy] consists of rules. A [Rule] selects callers (by id, role or owner), operations
// (see [Ops]), agents and skills, and allows or denies the matching requests:
//
//	p, err := policy.New(policy.Rules{List: []policy.Rule{
//		{Ops: []string{"send", "stream", "get", "list"}, Who: policy.Authenticated, Agents: []string{"translator"}},
//		{Deny: true, Ops: []string{"*"}, Roles: []string{"trainee"}, Agents: []string{"payroll"}},
//	}})
//
// The command "parley serve" reads rules from a file; docs/policy.md is its manual.
//
// # How it decides
//
//   - An empty field of a rule matches everything. Every field that is set must match; of a
//     list, one entry must.
//   - A denial overrides every rule that allows. Without a rule that allows, a request is
//     refused. So the order of rules does not matter, a further denial never allows more, and
//     a further rule that allows never allows less.
//   - "*" may end a name and matches any rest.
//   - Skills are checked where a task begins. A message without a skill may use any skill of
//     the agent, so it is allowed if all of them are. For every other request a rule that
//     allows applies without its skills, and a rule with skills that denies does not apply:
//     a caller that has begun a task may continue it.
//   - The role "admin" is allowed the operations "admin.*" without a rule. A denial can
//     withdraw some of them. No rule gives them to callers without credentials.
//
// # Guarantees
//
// A nil Policy allows everything, at no cost. A Policy without rules allows only the operations
// of administrators. A principal that is nil or has no id is allowed nothing. Decisions
// allocate no memory.
//
// # Non-guarantees
//
// A Policy does not decide whose tasks a caller sees: those of its owner, with or without a
// policy. It trusts the principal that it is given.
//
// # Concurrency
//
// A Policy is safe for concurrent use. Only [Policy.Replace] changes it, and does so
// atomically: no decision mixes old and new rules. Several decisions for one request, such as
// one for each agent of a list, may use old and new rules.
//
// # Testing
//
// Decisions are pure functions. [Policy.Check] runs the tests that accompany the rules.
package policy
