package grpcbind

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/fault"
)

// decode reads a request with the decoder of the HTTP bindings, so that all
// bindings have the same rules and the same errors.
func decode[T any](s *service, m proto.Message, read func(params []byte) (*T, error)) (*T, error) {
	params, err := protojson.Marshal(m)
	if err != nil {
		// Only values that JSON cannot express: NaN, an empty Value, a wild timestamp.
		return nil, fault.New(a2a.ErrInvalidParams, "a value of the request has no form in JSON: %v", err)
	}
	if err := s.decoder.Body(params); err != nil {
		return nil, err
	}
	return read(params)
}
