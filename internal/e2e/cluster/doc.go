// Package cluster holds the tests of several hubs on one database: real processes, a real
// PostgreSQL.
//
// # Overview
//
// Each test starts hubs with ids on a database of its own. Callers use one hub and look at the
// others. Holders of tasks are killed, or frozen for longer than their lease.
//
// # Guarantees
//
// The tests fail if a reader at another hub misses or repeats an event, if a task of a lost hub
// does not end, if two hubs store one message with a key, or if a webhook gets an event out of
// order.
//
// # Non-guarantees
//
// There is no checker of histories, and no proxy between hubs and database.
package cluster
