// Package caller is the caller's side of the gRPC binding: what a client.Client needs to
// call agents over gRPC.
//
//	o := client.Options{Transports: map[a2a.TransportProtocol]client.Transport{
//		a2a.TransportProtocolGRPC: caller.Dial,
//	}}
//
// # What it is
//
// [Dial] connects to an interface of version 1.0 or 0.3. Calls come and go as JSON,
// which ProtoJSON turns into the messages of the service.
//
// # Guarantees
//
// A connection that does not come up within ten seconds is client.ErrUnreachable, so that
// the client goes on to another binding. Errors of the agent are a client.Error with its
// reason. Credentials are sent in the clear to this machine alone.
//
// # What it does not promise
//
// Numbers in data parts and metadata are doubles, and fields that the protocol does not
// know are lost: the messages of gRPC have no place for them. Events have no ids.
//
// # Concurrency
//
// A connection is safe for concurrent use.
//
// # Testing
//
// The tests call the hub's own binding, and the server of the official SDK.
package caller
