package grpcbind

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// owner is the owner that the limits count a call for. All callers that have only the token of
// the extended cards share one.
func owner(c *op.Caller) task.Owner {
	if c.Principal == nil {
		return ""
	}
	return c.Principal.Owner()
}

// input is the message of a call and its caller.
type input struct {
	caller  *op.Caller
	message proto.Message
}

// decode reads a request with the decoder of the HTTP bindings, so that all
// bindings have the same rules and the same errors, and counts its size against the
// limits of the caller. A large message needs memory from the budget until it is stored.
func decode[T any](ctx context.Context, s *base, in input, read func(params []byte) (*T, error)) (*T, error) {
	size := proto.Size(in.message)
	if s.limiter != nil {
		if err := s.limiter.Bytes(owner(in.caller), size); err != nil {
			return nil, err
		}
	}
	if size > membudget.Small {
		if err := s.acquire(ctx, in.caller, int64(size)); err != nil {
			return nil, err
		}
	}
	params, err := protojson.Marshal(in.message)
	if err != nil {
		// Only values that JSON cannot represent: NaN, an empty Value, an invalid timestamp.
		return nil, apierror.New(a2a.ErrInvalidParams, "a value in the request cannot be represented in JSON: %v", err)
	}
	if size > membudget.Small {
		proto.Reset(in.message) // gRPC keeps it until the end of the call
	} else {
		arrivingFrom(ctx).release()
	}
	if err := s.decoder.Body(params); err != nil {
		return nil, err
	}
	return read(params)
}

// messageFactor is the memory for a large message until it is stored, as a multiple of its size: that of
// its arrival, its JSON with what it has outgrown, the canonical form, and the stored form.
const messageFactor = 7

// acquire acquires the memory for a large message, until it is stored or the call ends. A message
// that has acquired memory to arrive needs only the rest. No message needs more than half then, so that
// there is always enough beside those that arrive; and it comes before answers and runs, which may wait
// for the content of the message.
func (s *base) acquire(ctx context.Context, c *op.Caller, size int64) error {
	memory := s.engine.Memory()
	need, arrived, part, acquire := messageFactor*size, (*membudget.Hold)(nil), (*membudget.Hold)(nil), memory.Acquire
	if share, hold := arrivingFrom(ctx).holds(); hold != nil {
		acquire = memory.AcquireMore
		arrived, part = share, hold
		need = min(need-arrivalFactor*size, max(1, memory.Stats().Max/2))
	}
	rest, err := acquire(ctx, need)
	arrived.Release()
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, rest.Release)
	c.Admitted = func() {
		rest.Release()
		part.Release()
	}
	return nil
}
