// Package chaos holds the tests that hurt the real binary: it is killed at random
// moments under load, and what its clients saw is compared with what it remembers.
//
// # Guarantees
//
// The tests fail if a task id that a client has seen does not end, or if a reader
// that resumes with Last-Event-ID misses or repeats an event.
//
// # What it does not promise
//
// A process that is killed does not lose what the kernel has taken over; the loss
// of power is not simulated.
//
// # Testing
//
// PARLEY_KILLS sets how often the hub is killed; the default suits every run.
package chaos
