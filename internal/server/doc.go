// Package server opens the resources that a configuration names, such as the data folder,
// the store, keys, certificates, listeners, brokers and telemetry, and makes a hub of them:
// the one that "parley serve" runs.
//
// # Guarantees
//
// A hub that cannot have all that its configuration names does not open, and releases what
// it had opened. An error in the configuration is a [ConfigError]. Run returns when all
// tasks have ended or the time for that is over, and answers have left.
//
// # What it does not promise
//
// The fields of a configuration that a program makes itself are not checked again: package
// config does that when it reads a file.
//
// # Concurrency
//
// The methods of a [Hub] may be called by several goroutines; Run once, and Close after it.
//
// # Testing
//
// The tests of package cli run hubs of this package in their own process.
package server
