// Package upgrade tests that the program continues with a configuration and a data folder of a
// former version: tasks, questions, waiting work and the audit log. The folders in testdata are
// those of hubs that were killed while they worked; their names are commits. The package has
// tests alone.
package upgrade
