// Package teamkills holds the test of a team of agents through kill -9: a planner that a
// language model thinks for, and those to whom it delegates.
//
// A hub runs as the real binary on SQLite with the broker that it brings along. Its
// planner delegates to two agents of the hub that models think for, to an agent in another
// process that is served with the official SDK alone, and to a program of a worker at a
// queue. The models are those of chattest, in the process of the test: it outlives
// everybody, and sees every request. Each story kills the hub, the other process or the
// worker at one moment, such as within the answer of a model, between the intent of a call
// and its result, or after a delegate is done and before the hub knows. Meanwhile the other
// stories go on.
//
// # Guarantees
//
// The test fails if a task does not end; if a delegation makes two tasks, or is executed
// after it was completed; if the answer of the planner has the result of a delegate twice
// or not at all; if a reader who goes on where it was misses an entry or gets one twice; if
// a provider would refuse a request, because a call has no result or two, or because a turn
// of the model is there that it did not say to the end.
//
// # What it does not promise
//
// The agent in the other process keeps its tasks in memory, as the SDK does by default: a
// delegation to it may fail if that process is killed, and is the result for the planner
// then. So may one to the worker that was lost, or out of breath, after it had begun to
// answer. An execution that was interrupted may be repeated, since the agents say that they
// may be executed twice.
//
// # Concurrency
//
// The stories are told side by side.
//
// # Testing
//
// PARLEY_TEAM_KILLS sets how often somebody is killed; the default suits every run of the
// tests.
package teamkills
