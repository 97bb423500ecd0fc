// Package machine holds the tests of a hub on a machine that it shares: the environment of its
// programs, files of any editor, and several hubs with one database.
//
// # Guarantees
//
// The tests run the real program. They fail if a program of a hub gets a variable that the
// configuration does not name, or if hubs on one machine disturb each other.
//
// # Non-guarantees
//
// Other limits of a system are tests of the packages that meet them.
//
// # Concurrency
//
// Each test has hubs of its own.
//
// # Testing
//
// The package is tests only.
package machine
