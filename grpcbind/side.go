package grpcbind

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/ratelimit"
)

// side is what the services of both versions have in common.
type side struct {
	cfg     *Config
	decoder dialect.Decoder
	// shape is the dialect of the service.
	shape dialect.Shape
	// version checks the values of a2a-version.
	version func(values []string) error
	// limiter is nil if nothing is limited.
	limiter *ratelimit.Limiter
	// feeds are the goroutines that write to streams.
	feeds *sync.WaitGroup
}

// call does what every call without a stream has in common.
func call[T any](ctx context.Context, s *side, o dialect.Operation, do func(*op.Caller) (T, error)) (out T, err error) {
	performs(ctx, s, o)
	defer s.recovered(o, &err)
	c, err := s.enter(ctx)
	if err == nil {
		out, err = do(c)
	}
	if err != nil {
		var none T
		return none, s.fail(ctx, o, err)
	}
	return out, nil
}
