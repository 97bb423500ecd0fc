// Package negotiation tests two hubs with model agents that agree on a meeting.
//
// Each hub is the real binary, and the models are those of openaitest. At one hub, Ada asks her
// assistant to arrange a meeting with Bob. The assistant asks the secretary at Bob's hub, who
// has the calendar of the front desk there and passes on its questions. These questions arrive
// at Ada's hub, where a model is the answering agent.
//
// # Guarantees
//
// The test fails if the two do not agree on the free time; if a person is asked at level Act,
// or is not asked at level Propose; if an answer is sent at level Propose without the person's
// approval; or if a model reads unlabelled text of the other hub.
//
// # Non-guarantees
//
// The models follow a script: the negotiation skills of real models are not tested.
//
// # Concurrency
//
// The levels are tested one after the other, each with hubs of its own.
package negotiation
