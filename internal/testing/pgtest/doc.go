// Package pgtest starts private PostgreSQL servers for tests.
//
// Each server has its own folder, which is deleted at the end, listens on a port of loopback that
// it keeps over restarts, and trusts every user. [Shared] returns the server of a whole test
// process, which does not sync to the disk; its TestMain must call [Exit]. [Start] starts a
// server that may be killed and syncs each commit. Each test uses a database of its own
// ([Server.Database]).
//
// PostgreSQL refuses to run as the superuser. A test process of the superuser runs it as the user
// postgres, which Debian's package creates.
//
// # Concurrency
//
// Database may be called concurrently. The other methods of a Server belong to one test at a
// time.
package pgtest
