package interop

import (
	"context"
	"encoding/json"
	"iter"
)

// language is a version of the protocol with its differences from v1.0. Scenarios are written
// in v1.0 alone; the conversion to and from another version is here, once for all its peers.
type language struct {
	// lacks are the calls that the version does not have.
	lacks []string
	// request converts the params of a call, and result and event convert its answers. If they
	// are nil, nothing changes.
	request func(c call, binding string) any
	result  func(op string, b json.RawMessage) (json.RawMessage, error)
}

var languages = map[string]*language{
	v1:  {},
	v03: {lacks: []string{"list"}, request: v03Request, result: v03Result},
}

// spoken is a client that converts between its own version of the protocol and v1.0.
type spoken struct {
	client
	as      *language
	binding string
}

func (s *spoken) call(c call) call {
	if s.as.request != nil {
		c.Params = s.as.request(c, s.binding)
	}
	return c
}

func (s *spoken) answer(op string, b json.RawMessage) (json.RawMessage, error) {
	if s.as.result == nil {
		return b, nil
	}
	return s.as.result(op, b)
}

func (s *spoken) do(ctx context.Context, c call) (json.RawMessage, error) {
	b, err := s.client.do(ctx, s.call(c))
	if err != nil {
		return nil, reasoned(err)
	}
	return s.answer(c.Op, b)
}

func (s *spoken) stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for b, err := range s.client.stream(ctx, s.call(c)) {
			if err != nil {
				yield(nil, reasoned(err))
				return
			}
			if b, err = s.answer(c.Op, b); !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// reasons are the names of the JSON-RPC codes (specification §5.4).
var reasons = map[int]string{
	-32602: "INVALID_PARAMS",
	-32001: "TASK_NOT_FOUND",
	-32002: "TASK_NOT_CANCELABLE",
	-32003: "PUSH_NOTIFICATION_NOT_SUPPORTED",
	-32004: "UNSUPPORTED_OPERATION",
	-32005: "CONTENT_TYPE_NOT_SUPPORTED",
	-32009: "VERSION_NOT_SUPPORTED",
}

// reasoned adds the name to a refusal that has a code alone.
func reasoned(err error) error {
	if r, ok := err.(*refusal); ok && r.Reason == "" {
		r.Reason = reasons[r.Code]
	}
	return err
}
