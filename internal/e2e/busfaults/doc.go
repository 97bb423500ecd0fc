// Package busfaults holds the tests that hurt a hub, its workers and the broker between
// them, one suite for each broker.
//
// A hub on SQLite and some workers run as processes of their own: parts of them within
// this program, or "parley serve" and "parley agent run" with this program as what
// workers run. They reach the broker through a proxy, and callers the hub through
// another. Callers begin tasks at two agents, one of which may be executed again and one
// of which may not; the tasks stream chunks, ask back, or fail; with the commands,
// callers cancel some. Readers come back with Last-Event-ID. Meanwhile workers, the hub
// and the broker are killed and started again on their folders, workers sleep longer than
// their lease, connections are cut or stand still. Work and reports are published twice,
// late and out of order, unless the commands run; the disk of their hub is full for a
// while instead, where there may be a small one.
//
// # Guarantees
//
// The tests fail if a task does not end; if the log of a task has words of two runs, or
// not all words of the one that has completed it; if a task is not canceled that the hub
// said it had canceled, or is without having been asked; if an agent that may be executed
// once was executed twice, or another one more than three times; if a reader misses or
// repeats something; if a queue is not empty at the end; and if there are dead letters of
// tasks that have not ended, or for another reason than too many deliveries.
//
// # What it does not promise
//
// What the commands have received at the end, and not acknowledged, the broker holds for half
// a minute: the tests look only at what that is about.
//
// A task may fail whose worker was lost; the log of the test says how many did. The loss
// of power is not simulated. A worker that wakes after its lease finds that it was told to
// stop; that its reports would not count otherwise is tested in agent/queue alone.
//
// # Concurrency
//
// The brokers are hurt side by side, each with processes of its own.
//
// # Testing
//
// PARLEY_BUS_FAULTS sets how many faults each broker gets; the default suits every run of
// the tests. PARLEY_BUS_SEED repeats their order. What processes have said goes to the
// folder that PARLEY_BUS_LOGS names if a test fails.
package busfaults
