// Package assistant is three agents that speak for the person whom a hub belongs to.
//
//   - notify-user puts what it is told into the person's inbox.
//   - query-availability says whether the person is available, busy, available with
//     delays, or away.
//   - negotiate-meeting finds a time, over as many turns as it takes, within the hours of
//     the person and beside the meetings that it has agreed to.
//
// They follow rules and need no model. They are meant to stand behind a gate (package
// internal/agents/approval), and are references for agents that do more.
//
// # Guarantees
//
// A message that is executed again has its effect once. A negotiation goes on with the
// context, in the same task or another one of the same owner, also after a restart, and
// also when the desk has forgotten it, as long as Talks have not. Two
// meetings never overlap.
//
// # What it does not promise
//
// Dates are read in the form 2026-01-31 14:00, with or without a zone. The desk keeps the
// last 200 negotiations beside Talks, and 500 meetings, and knows no other calendar. Wordings may
// change; what programs read is the data part of the artifact.
//
// # Concurrency
//
// A Desk is safe for concurrent use. Its fields must not change once it is in use.
//
// # Testing
//
// An executor can be ranged over without a hub, which then has no owner.
package assistant
