package client

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Errors on the caller's side. Callers test with errors.Is.
var (
	// ErrUnreachable means that no connection to the agent could be made, so it has received
	// nothing.
	ErrUnreachable = peer.ErrUnreachable
	// ErrNoInterface means that the card lists no interface that the client can use.
	ErrNoInterface = peer.ErrNoInterface
	// ErrNoCard means that there is no agent card at the URL.
	ErrNoCard = card.ErrNoCard
	// ErrNoTransport means that Options.Bindings names a binding that is neither built in nor
	// among Options.Transports.
	ErrNoTransport = peer.ErrNoTransport
	// ErrCut means that a stream ended before its task did. The error is a *Cut, which has the
	// position to continue from.
	ErrCut = transport.ErrCut
	// ErrTooLarge means that an answer is larger than Options.MaxBody.
	ErrTooLarge = peer.ErrTooLarge
	// ErrUnsupported means that the dialect of the agent does not have the operation, such as a
	// list in v0.3. Nothing was sent.
	ErrUnsupported = peer.ErrUnsupported
)

// Error is an error that the agent reported (specification §5.4), in the same shape
// for every binding: the SDK's sentinel, the code of JSON-RPC, the reason, the agent's
// explanation, and the status of HTTP.
type Error = transport.Error

// Position is a position in the stream of a task.
type Position = transport.Position

// Cut is the error of a stream that ended before its task did. It wraps ErrCut, and has the
// position to continue from.
type Cut = transport.Cut

func named(err error, op string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, err)
}
