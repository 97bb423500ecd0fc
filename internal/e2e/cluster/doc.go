// Package cluster holds the tests of several hubs on one database: real processes, a real
// PostgreSQL.
//
// # Overview
//
// Each test starts hubs with ids on a database of its own. Callers use one hub and look at the
// others. Holders of tasks are killed, or frozen for longer than their lease.
//
// The campaign (TestCampaign) runs three hubs behind PgBouncer in transaction mode and with RabbitMQ, each night also with each other broker in turn and without one, with a proxy
// between each hub and the database and between each hub and the broker. Hubs are killed, ended or
// frozen for longer than a lease, and their clocks are an hour wrong; connections are cut, refused,
// delayed, stalled in both directions or in one; the database is killed, frozen or at its limit of
// connections, and the pooler is restarted. On three databases, each on a server of its own, one of them is away for a
// while, and owners move from one to another while the other faults happen; each client is an owner there. Of a
// cluster of NATS, a server is away for a while. The plan of the faults is a function of the seed. Clients send, stream, read, list,
// answer and cancel at random hubs. They record each operation with its beginning, its end and its
// result, which is unknown after an error. At the end of a round all tasks must have ended, and the
// checker reads their logs at all hubs.
//
// TestPlantedBugs builds hubs with bugs, one in continuous integration and all each night, by an overlay of the sources: writes of an earlier epoch
// count, tasks of others are followed by hints alone, a lease is renewed by the clock of the hub, a
// membership ends without waiting for its transactions, each hub delivers all webhooks, or a hub writes to the former
// database of an owner. The checker
// must find each of them, and nothing in hubs without.
// TestWorkersOfAKilledHub kills the holder of tasks that workers perform.
//
// TestSharedHooks lets three hubs share the webhooks of 300 tasks, kills one and starts a fourth.
//
// TestRollingRestart ends and starts all hubs, twice, under callers that read streams and send
// messages with keys. TestTakeoverTime measures the time after which the tasks of a killed hub are
// continued.
//
// # Guarantees
//
// The tests fail if a reader at another hub misses or repeats an event, if a task of a lost hub
// does not end, if two hubs store one message with a key, or if a webhook gets an event out of
// order.
//
// The checker of the campaign fails if the operations on a task are not linearizable (an answer shows
// an earlier version than one that was complete before its request, or content that no version has);
// if hubs show different logs, or logs without data that a caller has read; if a task ends twice or not at all; if
// the output of two runs mixes, or is not complete; if a program is executed more often than its
// agent allows; if a move does not end, or leaves tasks in another database; if a webhook misses an event or gets it too early; if a message with a key has two
// tasks, or a hub lists other tasks than the callers have; if hubs without faults do not become and
// stay members although their clocks are wrong, or do not continue the tasks of one that stands
// still. TestChecker damages a history in these ways, but for
// the executions of programs, the lists and the mixed output.
//
// # Non-guarantees
//
// No verdict depends on the speed of the machine; the limits of time are minutes. A task may fail
// where the design allows it: its agent is not repeatable and was interrupted, or it was interrupted
// three times.
//
// # Testing
//
// PARLEY_CLUSTER_FAULTS is the number of faults of each campaign, PARLEY_CLUSTER_SEED the seed of
// their plan; each run has the same plan by default. PARLEY_ROLLING_STREAMS and
// PARLEY_ROLLING_SENDERS are the callers of the rolling restart, PARLEY_TAKEOVERS the kills of
// TestTakeoverTime. If a campaign fails, the output of its hubs is written to the folder
// PARLEY_CLUSTER_LOGS.
package cluster
