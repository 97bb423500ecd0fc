package grpcbind

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
)

// keyIdempotency names a message that must not be taken twice.
const keyIdempotency = "idempotency-key"

// keyed gives a message the key that its call has, if keys count here. A caller who
// relies on a key must not be mistaken about it, so one that is no key is refused.
func (s *side) keyed(ctx context.Context, in *op.Send) error {
	if !s.cfg.Engine.TakesKeys() {
		return nil
	}
	switch values := metadata.ValueFromIncomingContext(ctx, keyIdempotency); {
	case len(values) == 1 && values[0] != "":
		in.Key = values[0]
	case len(values) > 0:
		return apierror.Field(a2a.ErrInvalidParams, keyIdempotency, "must have one value, which is not empty")
	}
	return nil
}
