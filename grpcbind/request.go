package grpcbind

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/apierror"
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

// decode reads a request with the decoder of the HTTP bindings, so that all
// bindings have the same rules and the same errors, and counts its size against the
// limits of the caller.
func decode[T any](s *base, c *op.Caller, m proto.Message, read func(params []byte) (*T, error)) (*T, error) {
	if s.limiter != nil {
		if err := s.limiter.Bytes(owner(c), proto.Size(m)); err != nil {
			return nil, err
		}
	}
	params, err := protojson.Marshal(m)
	if err != nil {
		// Only values that JSON cannot represent: NaN, an empty Value, an invalid timestamp.
		return nil, apierror.New(a2a.ErrInvalidParams, "a value of the request has no form in JSON: %v", err)
	}
	if err := s.decoder.Body(params); err != nil {
		return nil, err
	}
	return read(params)
}
