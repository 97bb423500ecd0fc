// Package policy decides which caller may do what with which agent.
//
// # What it is
//
// A [Policy] is made of rules. A [Rule] says who (callers, roles, owners), what (the
// operations of the list below), on which agents, with which skills, and whether that is
// allowed or denied:
//
//	p, err := policy.New(policy.Rules{List: []policy.Rule{
//		{Ops: []string{"send", "stream", "get", "list"}, Who: policy.Authenticated, Agents: []string{"translator"}},
//		{Deny: true, Ops: []string{"*"}, Roles: []string{"trainee"}, Agents: []string{"payroll"}},
//	}})
//
// The same as a file is read by "parley serve"; docs/policy.md is its manual.
//
// # How it decides
//
//   - What a rule does not name does not narrow it. Everything that it names must fit; of a
//     list, one entry must.
//   - A denial wins over everything that allows. What no rule allows is not allowed. So the
//     order of rules means nothing, a further denial never allows more, and a further rule
//     that allows never allows less.
//   - "*" may stand at the end of a name and stands for any rest.
//   - Skills count where a task begins. A message that names none may be for any of the
//     agent's skills, so it is allowed if all of them are. For everything else a rule that
//     allows counts without its skills, and one with skills that denies does not count:
//     who has begun a task may go on with it.
//   - The role "admin" is allowed the operations "admin.*" without a rule. A denial takes
//     some of them away. Callers without credentials get none of them by a rule.
//
// # Guarantees
//
// A nil Policy allows everything, at no cost. A Policy without rules allows nothing but
// what administrators may. A principal that is nil, or has no id, is allowed nothing.
// Deciding makes no garbage.
//
// # What it does not promise
//
// A Policy says nothing about whose tasks a caller sees: those of its owner, with a policy
// and without one. It trusts the principal that it is given.
//
// # Concurrency
//
// A Policy is safe for concurrent use. Nothing but [Policy.Replace] changes it, and that at
// once: no decision is made by some old rules and some new ones. Of several decisions for one
// request, such as one for each agent of a list, some may be old and some new.
//
// # Testing
//
// Everything here is pure. [Policy.Check] runs the tests that stand beside rules.
package policy
