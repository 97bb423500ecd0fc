// Package caller is the caller's side of the gRPC binding: it connects a client.Client to
// agents over gRPC.
//
//	o := client.Options{Transports: map[a2a.TransportProtocol]client.Transport{
//		a2a.TransportProtocolGRPC: caller.Dial,
//	}}
//
// # Overview
//
// [Dial] connects to an interface of version 1.0 or 0.3. Calls are exchanged as JSON, which
// ProtoJSON converts to and from the messages of the service.
//
// # Guarantees
//
// If connecting takes longer than ten seconds, the error is client.ErrUnreachable, so that the
// client tries another binding. Errors of the agent are a client.Error with its reason.
// Credentials are sent unencrypted to this machine only.
//
// # Non-guarantees
//
// Numbers in data parts and metadata are doubles, and fields that the protocol does not define
// are lost: the messages of gRPC cannot carry them. Events have no ids.
//
// # Concurrency
//
// A connection is safe for concurrent use.
//
// # Testing
//
// The tests call the hub's own binding, and the server of the official SDK.
package caller
