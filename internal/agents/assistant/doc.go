// Package assistant provides three agents that act for the owner of a hub.
//
//   - notify-user puts the text of a message into the owner's inbox.
//   - query-availability answers whether the owner is available, busy, available with delays,
//     or away.
//   - negotiate-meeting finds a time over several turns, within the owner's hours and without
//     overlapping meetings that it has agreed to.
//
// They follow rules and need no model. They are intended for use behind a gate (package
// internal/agents/approval), and serve as examples for agents that do more.
//
// # Guarantees
//
// A message that is executed again has its effect only once. A negotiation continues with its
// context, in the same task or in another one of the same owner. It also continues after a
// restart, and after the assistant has dropped it as long as History contains it. Two meetings
// never overlap.
//
// # Non-guarantees
//
// Dates are read in the form 2026-01-31 14:00, with or without a zone. The desk stores the last
// 200 negotiations and 500 meetings, and uses no other calendar. Wordings may change; programs
// should read the data part of the artifact.
//
// # Concurrency
//
// An Assistant is safe for concurrent use. Its fields must not change once it is in use.
//
// # Testing
//
// A test can range over an executor without a hub; the caller then has no owner.
package assistant
