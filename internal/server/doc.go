// Package server opens the resources that a configuration names, such as the data folder, the
// store, keys, certificates, listeners, brokers and telemetry. It builds the hub that "parley
// serve" runs from them. Package hub runs the result.
//
// # Guarantees
//
// If a resource of the configuration cannot be opened, Open fails and releases the resources
// that it had opened. An error in the configuration is a [ConfigError]. Run returns after all
// tasks have ended, or their time is over, and all answers were sent.
//
// # Non-guarantees
//
// A configuration that a program builds itself is not checked again: package config checks a
// configuration when it reads a file.
//
// # Concurrency
//
// The methods of a [Hub] may be called by several goroutines. Call Run once, and Close after
// it.
package server
