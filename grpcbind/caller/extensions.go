package caller

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// besides are the metadata of an answer. Agents confirm extensions in its header, and those
// made with the official SDK in its trailer.
type besides struct{ header, trailer metadata.MD }

// options makes a call collect the metadata; none if it is for nothing.
func (b *besides) options(ctx context.Context) []grpc.CallOption {
	if peer.Confirmed(ctx) == nil {
		return nil
	}
	return []grpc.CallOption{grpc.Header(&b.header), grpc.Trailer(&b.trailer)}
}

// report reports the extensions that the metadata confirm.
func (b *besides) report(ctx context.Context) {
	if f := peer.Confirmed(ctx); f != nil {
		f(peer.ConfirmedBy(metadata.Join(b.header, b.trailer).Get))
	}
}

// reportHeader reports the extensions that the header of a stream confirms, whose first
// message has come.
func reportHeader(ctx context.Context, s grpc.ClientStream) {
	if peer.Confirmed(ctx) == nil {
		return
	}
	if header, err := s.Header(); err == nil {
		(&besides{header: header}).report(ctx)
	}
}

// reportTrailer reports the extensions of a stream that has come to its end, if there are
// any in its trailer.
func reportTrailer(ctx context.Context, s grpc.ClientStream) {
	if peer.Confirmed(ctx) == nil || len(peer.ConfirmedBy(s.Trailer().Get)) == 0 {
		return
	}
	if header, err := s.Header(); err == nil {
		(&besides{header, s.Trailer()}).report(ctx)
	}
}
