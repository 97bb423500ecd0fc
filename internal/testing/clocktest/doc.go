// Package clocktest moves the wall clock of another process.
//
// [Move] changes the functions of the kernel in the memory of a Go program, so that only this
// process reads another time. Its monotonic clock, and so its timers, stay right. It works on
// Linux with amd64, for processes that the caller may trace.
//
// # Concurrency
//
// Move may be called concurrently for different processes.
package clocktest
