package grpcbind

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
)

// keyIdempotency is the metadata key of the idempotency key of a message.
const keyIdempotency = "idempotency-key"

// keyed sets the idempotency key of a message, if keys are enabled. An invalid key is refused,
// because its caller relies on it.
func (s *base) keyed(ctx context.Context, in *op.Send) error {
	if !s.engine.TakesKeys() {
		return nil
	}
	switch values := metadata.ValueFromIncomingContext(ctx, keyIdempotency); {
	case len(values) == 1 && values[0] != "":
		in.Key = values[0]
	case len(values) > 0:
		return apierror.Field(a2a.ErrInvalidParams, keyIdempotency, "must have exactly one non-empty value")
	}
	return nil
}
