package client

import (
	"fmt"

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// What can go wrong on the caller's side. Callers test with errors.Is.
var (
	// ErrUnreachable: no connection to the agent could be made, so it has received
	// nothing.
	ErrUnreachable = peer.ErrUnreachable
	// ErrNoInterface: the card lists no interface that the client can use.
	ErrNoInterface = peer.ErrNoInterface
	// ErrNoCard: there is no agent card at the URL.
	ErrNoCard = card.ErrNoCard
	// ErrNoTransport: Options.Bindings names a binding that the client does not speak
	// and that Options.Transports does not add.
	ErrNoTransport = peer.ErrNoTransport
	// ErrCut: a stream ended before its task did. The error is a *Cut, which says
	// where to go on.
	ErrCut = transport.ErrCut
	// ErrTooLarge: an answer is larger than Options.MaxBody.
	ErrTooLarge = peer.ErrTooLarge
	// ErrUnsupported: the dialect of the agent does not have the operation, such as a
	// list in v0.3. Nothing was sent.
	ErrUnsupported = peer.ErrUnsupported
)

// Error is an error that the agent reported (specification §5.4), in the same shape
// for every binding: the SDK's sentinel, the code of JSON-RPC, the reason, the agent's
// explanation, and the status of HTTP.
type Error = transport.Error

// Position is a place in the stream of a task.
type Position = transport.Position

// Cut is the error of a stream that ended before its task did. It is ErrCut, and says
// where to go on.
type Cut = transport.Cut

func named(err error, op string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}
