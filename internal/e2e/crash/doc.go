// Package crash holds the tests that kill real processes, cut their connections and fill their
// disks under load, and compare what callers have read with what is stored.
//
// # What it is
//
// The scenarios share processes, which kills victims and starts them again; reader, which reads
// the events of a task over as many connections as that takes; job and crowd, which are callers
// under load. Hubs run as the real binary on SQLite, each process at an address and on a folder
// that stay. The scenarios are these:
//
//   - A hub is killed under load (hub_test.go), with its audit log (audit_test.go), and with a
//     webhook that hangs, resets, fails and recovers (push_test.go); its disk, that of its audit
//     log or that of its large parts is full (disk_*_test.go).
//   - Two hubs are killed during conversations of all kinds (talk_*_test.go): an interview whose
//     questions another agent answers, through one hub or through both; one whose questions a
//     person answers; a purchase that a person must approve; the negotiation of a meeting.
//     delegation_test.go has three hubs in a row, notes_test.go the notes after a restart.
//   - A team (team_*_test.go): a planner delegates to two agents that models think for, to an agent
//     in another process with the official SDK alone, and to a program of a worker at a queue. Each
//     plan kills the hub, the other process or the worker at one moment, such as between the
//     intent of a call and its result. The models are in the process of the test and outlive all.
//   - A hub and the hub that performs its tasks (remote_*_test.go), with a proxy in between that
//     kills one of them, drops, delays, truncates or repeats, at each step of a task.
//   - A hub, its workers and each broker between them (bus_*_test.go): parts in this program, or
//     "parley serve" and "parley agent run". Processes are killed, workers sleep longer than
//     their lease, connections are cut or stand still, work and reports are published twice, late
//     and out of order, or the disk of the hub is full for a while.
//
// # Guarantees
//
// The tests fail if a task whose id a caller has got does not end; if a reader that resumes with
// Last-Event-ID misses or repeats an event; if a message with an idempotency key makes two tasks;
// if a task or a change that was answered is not in the audit log; if a webhook misses a
// transition or gets one too early.
//
// Of conversations: if a word is lost, or is in the log twice; if a question gets two answers, or
// an answering agent is asked twice; if an approved action is done twice, or a refused one at all;
// if a decision is lost, or an item of the inbox is there twice; if two meetings overlap; if the
// result, the outcome or the conversation is not remembered as it was; if hubs can ask each other
// in a circle; if a task lives more than a second after the one that asked for it was canceled;
// if notes are not found after a restart or do not end in time.
//
// Of delegations: if one makes two tasks, or is executed after it was completed; if the answer has
// the result of a delegate twice or not at all; if a provider would refuse a request; if two hubs
// disagree about how a task ended, or the other hub was asked twice.
//
// At a broker: if the log of a task has words of two runs, or not all words of the one that has
// completed it; if a task is not canceled that the hub said it had canceled, or is without having
// been asked; if an agent that may be executed once was executed twice, or another one more than
// three times; if a queue is not empty at the end; if there are dead letters of tasks that have not
// ended, or for another reason than too many deliveries.
//
// # What it does not promise
//
// A process that is killed does not lose what the kernel has taken over; the loss of power is not
// simulated. A task may fail where the design says so: its agent must not be executed twice and
// was killed in the middle, or was killed three times; the other hub was not there in three tries;
// the other process keeps its tasks in memory alone; its worker was lost. The logs of the tests say
// how many did.
//
// Messages that the commands have received at the end, and not acknowledged, the broker holds for
// half a minute: the tests look only at the tasks that they are about. A worker that wakes after
// its lease finds that it is to stop; that its reports would not count otherwise is tested in
// agent/queue alone.
//
// # Concurrency
//
// Callers act side by side, and so do the brokers, each with processes of its own.
//
// # Testing
//
// These variables make runs longer; the defaults suit every run of the tests: PARLEY_KILLS is how
// often a hub is killed, PARLEY_TALK_KILLS the hubs of conversations, PARLEY_TEAM_KILLS the
// processes of the team, PARLEY_FAULTS the number of remote tasks, PARLEY_BUS_FAULTS the faults of
// each broker. PARLEY_BUS_SEED repeats the order of these. The output of processes goes to the
// folder that PARLEY_BUS_LOGS names if a test fails.
package crash
