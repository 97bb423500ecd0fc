// Package parley is a durable hub for AI agents: it exposes agents over the A2A
// (Agent2Agent) protocol and keeps every task in a durable log.
//
// A [Hub] serves executors that were written for the official SDK (a2asrv.AgentExecutor) over
// JSON-RPC and HTTP+JSON on one port:
//
//	hub := &parley.Hub{}
//	hub.Handle(card, executor)
//	err := hub.ListenAndServe(ctx, "127.0.0.1:4100")
//
// The zero Hub keeps tasks in memory and logs this when it starts. With a store of package
// store/sqlitestore, tasks survive the process. Package grpcbind adds gRPC.
//
// # Guarantees
//
// Once a caller has received a task id, that task reaches a final state or waits for its
// caller. With a durable store this holds even if the process is killed. The hub stores every
// change before it sends the change to a caller. Streams can be resumed with Last-Event-ID. A
// caller can access only its own tasks. Without an authenticator a hub listens on loopback
// addresses only.
//
// # Non-guarantees
//
// The hub repeats a run that a crash interrupted only for agents that declare themselves
// idempotent (package agent). Otherwise the task fails, and its status message states the
// reason.
//
// # Concurrency
//
// The fields are read when the hub is first used (Handler, Run, Serve or Engine) and must not
// change after that. All methods are safe for concurrent use, and agents may be added at any
// time. A Hub serves once.
//
// # Testing
//
// Handler returns an http.Handler that works with net/http/httptest. Call Run concurrently.
package parley

import "github.com/parley-a2a/parley/internal/version"

// Version is the version of this module in the program, such as "0.1.0".
var Version = version.Version
