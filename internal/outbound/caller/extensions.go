package caller

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// besides is the metadata of an answer. Agents confirm extensions in its header, and those
// built with the official SDK in its trailer.
type besides struct{ header, trailer metadata.MD }

// options makes a call collect the metadata, if its context has a function to report to.
func (b *besides) options(ctx context.Context) []grpc.CallOption {
	if peer.Confirmed(ctx) == nil {
		return nil
	}
	return []grpc.CallOption{grpc.Header(&b.header), grpc.Trailer(&b.trailer)}
}

// report reports the extensions that the metadata confirms.
func (b *besides) report(ctx context.Context) {
	if f := peer.Confirmed(ctx); f != nil {
		f(peer.ConfirmedBy(metadata.Join(b.header, b.trailer).Get))
	}
}
