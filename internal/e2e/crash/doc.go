// Package crash holds the tests that kill real processes, cut their connections and fill their
// disks under load, and compare the events that callers have read with the stored tasks.
//
// # Overview
//
// The scenarios share three helpers. processes kills victims and starts them again. reader
// reads the events of a task over as many connections as necessary. job and crowd are callers
// under load. Hubs run as the real binary on SQLite; each process keeps its address and its
// folder. The scenarios are these:
//
//   - A hub is killed under load (hub_test.go), with its audit log (audit_test.go), and with a
//     webhook that hangs, resets, fails and recovers (push_test.go). The disk of its data, its
//     audit log or its large parts is full (disk_*_test.go).
//   - Two hubs are killed during conversations of all kinds (talk_*_test.go): an interview
//     whose questions another agent answers, through one hub or through both; one whose
//     questions a person answers; a purchase that a person must approve; the negotiation of a
//     meeting. delegation_test.go has three hubs in a row, notes_test.go the notes after a
//     restart.
//   - A team (team_*_test.go): a planner delegates to two model agents, to an agent in another
//     process that uses only the official SDK, and to a program of a worker at a queue. Each
//     plan kills the hub, the other process or the worker at one moment, such as between the
//     intent of a call and its result. The models run in the process of the test and are never
//     killed.
//   - A hub and the remote hub that performs its tasks (remote_*_test.go), with a proxy in
//     between. At each step of a task, the proxy kills one of them, or drops, delays, truncates
//     or repeats a message.
//   - A hub, its workers and each broker between them (bus_*_test.go): parts in this program,
//     or "parley serve" and "parley agent run". Processes are killed, workers sleep longer than
//     their lease, connections are cut or stalled, work and reports are published twice, late
//     and out of order, or the disk of the hub is full for a while.
//   - The campaign (campaign_*_test.go): at three brokers, callers of all kinds send messages to
//     agents of the hub, programs and queues, with webhooks and questions. Hubs, workers,
//     programs and brokers are killed, ended in order or frozen; their connections are cut or
//     stalled; their wall clocks jump by up to eleven hours; the disk is full and webhooks fail
//     for a while. The plan is a function of the seed. Callers, webhooks and programs write a
//     ledger, which a pure function compares with the tasks of the hub.
//
// # Guarantees
//
// The tests fail if a task whose id a caller has received does not end; if a reader that
// resumes with Last-Event-ID misses or repeats an event; if a message with an idempotency key
// creates two tasks; if a confirmed task or change is not in the audit log; if a webhook misses
// a transition or gets one too early.
//
// Of conversations: if a message is lost, or is in the log twice; if a question gets two
// answers, or an answering agent is asked twice; if an approved action is done twice, or a
// refused one at all; if a decision is lost, or an item of the inbox exists twice; if two
// meetings overlap; if the result, the outcome or the conversation is not remembered correctly;
// if hubs can ask each other in a circle; if a task continues for more than a second after its
// parent was canceled; if notes are not found after a restart or do not expire in time.
//
// Of delegations: if one creates two tasks, or is executed after it was completed; if the
// answer has the result of a delegate twice or not at all; if a provider would refuse a
// request; if two hubs disagree about the end of a task, or the remote hub was asked twice.
//
// At a broker: if the log of a task has output of two runs, or not the whole output of the run
// that completed it; if a task is not canceled although the hub confirmed it, or is canceled
// without a request; if an agent that may be executed once was executed twice, or another one
// more than three times; if a queue is not empty at the end; if there are dead letters of tasks
// that have not ended, or for another reason than too many deliveries.
//
// In the campaign: if a task, a message, an accepted answer or a notification is lost; if a task
// or a notification takes longer than two minutes after the last fault; if an effect, a task or
// a message is repeated; if a stream has a gap. TestLedgerCheck damages a ledger in each of
// these ways.
//
// # Non-guarantees
//
// A killed process does not lose data that the kernel has accepted; power loss is not
// simulated. A task may fail where the design allows it: its agent is not idempotent and was
// killed during the execution; it was killed three times; the remote hub was unreachable in
// three attempts; the remote process keeps its tasks in memory alone; its worker was lost. The
// logs of the tests state the number of such tasks.
//
// The broker holds messages that the commands received at the end, and did not acknowledge, for
// half a minute. The tests check only the task ids of these. A worker that wakes after its
// lease receives a request to stop; only internal/agents/queue tests that its reports would not count
// otherwise.
//
// # Concurrency
//
// Callers run concurrently, and so do the tests of the brokers, each with processes of its own.
//
// # Testing
//
// These variables make runs longer; the defaults suit every run of the tests. PARLEY_KILLS is
// the number of kills of a hub, PARLEY_TALK_KILLS of the hubs of conversations,
// PARLEY_TEAM_KILLS of the processes of the team. PARLEY_FAULTS is the number of remote tasks,
// PARLEY_BUS_FAULTS the number of faults of each broker. PARLEY_BUS_SEED repeats the order of
// these. PARLEY_CAMPAIGN_FAULTS is the number of faults at each broker of the campaign, and
// PARLEY_CAMPAIGN_SEED repeats their plan. If a test fails, the output of processes is written
// to the folder named by PARLEY_BUS_LOGS.
package crash
