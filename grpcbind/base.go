package grpcbind

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/ratelimit"
)

// base is the common part of the services of both versions.
type base struct {
	cfg     *Config
	engine  *engine.Engine
	decoder dialect.Decoder
	// shape is the dialect of the service.
	shape dialect.Shape
	// version checks the values of a2a-version.
	version func(values []string) error
	// limiter is nil if no limits are configured.
	limiter *ratelimit.Limiter
	// feeds waits for the goroutines that write to streams.
	feeds *sync.WaitGroup
}

// call performs the common steps of every call without a stream.
func call[T any](ctx context.Context, s *base, o dialect.Operation, do func(*op.Caller) (T, error)) (out T, err error) {
	performs(ctx, s, o)
	defer s.recovered(o, &err)
	c, err := s.identify(ctx)
	if err == nil {
		out, err = do(c)
	}
	if err != nil {
		var none T
		return none, s.fail(ctx, o, err)
	}
	return out, nil
}
