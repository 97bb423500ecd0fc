// Package negotiation holds the test of two hubs whose agents, that language models think
// for, agree on a meeting.
//
// Each hub is the real binary, and the models are those of chattest. At one hub, Ada tells
// her assistant to arrange a meeting with Bob; the assistant asks the secretary at Bob's
// hub, who has the calendar of the front desk there and passes on what that asks back.
// These questions come to Ada's hub, where a model is the answering agent.
//
// # Guarantees
//
// The test fails if the two do not agree on the time that is free; if at level Act a person
// is asked, or at level Propose nobody is; if an answer goes out at Propose that the person
// has not approved; or if a model reads words of the other hub that are not labelled.
//
// # What it does not promise
//
// The models follow a script: how well a real one negotiates is not tested.
//
// # Concurrency
//
// The levels are tested one after the other, each with hubs of its own.
//
// # Testing
//
// The package is tests alone.
package negotiation
