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
//   - A hub is killed under load with its audit log (audit_test.go), and with a webhook that
//     hangs, resets, fails and recovers (push_test.go). The disk of its data, its audit log or
//     its large parts is full (disk_*_test.go).
//   - A hub and the remote hub that performs its tasks (remote_*_test.go), with a proxy in
//     between. At each step of a task, the proxy kills one of them, or drops, delays, truncates
//     or repeats a message.
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
// Of remote tasks: if two hubs disagree about the end of a task, or the remote hub was asked
// twice.
//
// At a broker: if the log of a task has output of two runs, or not the whole output of the run
// that completed it; if a task is not canceled although the hub confirmed it, or is canceled
// without a request; if an agent that may be executed once was executed twice, or another one
// more than three times.
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
// three attempts; its worker was lost. The logs of the tests state the number of such tasks.
//
// Kills between two changes of a conversation, an approval or a delegation are enumerated where
// the change is made, with a store that fails at each of them: TestKilledAnywhere in
// internal/agents/model, TestInterruptedAnywhere in internal/agents/approval, TestKills and
// TestAskSurvivesKills in package question, TestKilledBetweenSteps in internal/recorder.
//
// # Concurrency
//
// Callers run concurrently, and so do the tests of the brokers, each with processes of its own.
//
// # Testing
//
// These variables make runs longer; the defaults suit every run of the tests. PARLEY_KILLS is
// the number of kills of a hub, PARLEY_FAULTS the number of remote tasks,
// PARLEY_CAMPAIGN_FAULTS the number of faults at each broker of the campaign, whose plan
// PARLEY_CAMPAIGN_SEED repeats. If a test fails, the output of processes is written to the
// folder named by PARLEY_BUS_LOGS.
package crash
