// Package kills holds the tests of conversations through kill -9: agents that ask back,
// people who answer and approve, and what is remembered of it.
//
// Two hubs run as the real binary on SQLite. People and programs tell them stories, such
// as an interview whose questions another agent answers, through one hub or through both;
// one whose questions a person answers; a purchase that a person must approve; the
// negotiation of a meeting. Meanwhile the hubs are killed at random moments and started
// again. A client that gets no answer repeats its message with the same id.
//
// # Guarantees
//
// The tests fail if a task does not end; if a word of the conversation is lost, or is in
// the log twice; if a question gets two answers, or an answering agent is asked twice; if
// what was approved is done twice, or what was refused at all; if the person's decision
// is lost, or an item of the inbox is there twice; if two meetings overlap; and if the
// result of a task, its outcome or the conversation is not remembered, or not as it was.
// They fail, too, if agents on three hubs can ask each other in a circle, if a task goes
// on for more than a second when the one that has asked for it is canceled, and if notes
// are not found after a restart or do not end in time.
//
// # What it does not promise
//
// A task may fail where the design says so: its agent must not be executed twice and was
// killed in the middle, or was killed three times, or the other hub was not there in three
// tries. The log of the test says how many did.
//
// # Concurrency
//
// The stories are told side by side.
//
// # Testing
//
// PARLEY_TALK_KILLS sets how often hubs are killed; the default suits every run of the
// tests.
package kills
