package grpcbind

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/fault"
	"github.com/parley-a2a/parley/internal/op"
)

// keyIdempotency names a message that must not be taken twice.
const keyIdempotency = "idempotency-key"

// decodeSend is decode for a message, with the key that it has, if keys count here. A
// caller who relies on a key must not be mistaken about it, so one that is no key is
// refused.
func (s *service) decodeSend(ctx context.Context, c *op.Caller, r *pb.SendMessageRequest) (*op.Send, error) {
	in, err := decode(s, c, r, s.decoder.Send)
	if err != nil || !s.cfg.Engine.TakesKeys() {
		return in, err
	}
	switch values := metadata.ValueFromIncomingContext(ctx, keyIdempotency); {
	case len(values) == 1 && values[0] != "":
		in.Key = values[0]
	case len(values) > 0:
		return nil, fault.Field(a2a.ErrInvalidParams, keyIdempotency, "must have one value, which is not empty")
	}
	return in, nil
}
