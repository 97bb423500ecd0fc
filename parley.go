// Package parley is the switchboard between agents: it exposes agents over the A2A
// (Agent2Agent) protocol and keeps every task in a durable log.
//
// A [Hub] takes executors that were written for the official SDK
// (a2asrv.AgentExecutor) and serves them over JSON-RPC and HTTP+JSON on one port:
//
//	hub := &parley.Hub{}
//	hub.Handle(card, executor)
//	err := hub.ListenAndServe(ctx, "127.0.0.1:4100")
//
// The zero Hub keeps tasks in memory and says so when it starts. Give it a store
// of package store/sqlitestore and tasks survive the process; package grpcbind adds
// gRPC.
//
// # Guarantees
//
// Once a caller has seen a task id, that task ends or waits for its caller, also
// after the process was killed, if the store is durable. What a caller sees is
// durable before. Streams can be resumed with Last-Event-ID. A caller sees only its
// own tasks. Without an authenticator a hub listens on loopback only, unless it is
// told otherwise.
//
// # What it does not promise
//
// A run that was interrupted by a crash is repeated only for agents that declare
// themselves idempotent (package agent); otherwise the task fails and says why.
//
// # Concurrency
//
// The fields are read when the hub is first used (Handler, Run, Serve or Engine)
// and must not change after that. All methods are safe for concurrent use; agents
// may be added at any time. A Hub serves once.
//
// # Testing
//
// Handler returns an http.Handler that works with net/http/httptest; call Run
// beside it.
package parley

// Version is the version of this release.
const Version = "0.1.0-dev"
