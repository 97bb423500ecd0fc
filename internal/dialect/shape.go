package dialect

import (
	"errors"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Shape is a dialect in its stored form, beside tasks and webhooks: the wire format of a
// caller's requests and responses. The zero Shape is v1.0. The numbers are stored and must not
// change. Those after V03Proto are of parts.
type Shape uint8

// The shapes that every program has.
const (
	// V1 is v1.0.
	V1 Shape = iota
	// V03 is JSON-RPC of v0.3: objects with a kind, states in kebab case.
	V03
	// V03Proto is ProtoJSON of the proto of v0.3, which its HTTP+JSON clients write.
	V03Proto
	// Job is POST /tasks/send, the one operation of some agents. A program has it if a part adds it;
	// see Jobs.
	Job Shape = 5
	// numShapes bounds the numbers.
	numShapes = 8
)

// builtIn returns the dialects that every program has.
func builtIn() [numShapes]*Dialect {
	return [numShapes]*Dialect{
		V1: {
			Shape: V1, Name: "v1.0", Version: "1.0",
			Calling: Calling{Header: "1.0", Part: readAnyPart},
		},
		V03: {
			Shape: V03, Name: "v0.3", Version: legacy,
			Codec:   Codec{v03Request, v03Result, always(v03Frames), v03Field},
			Calls:   Calls{Methods: v03Methods},
			Serving: Serving{Adapt: adaptV03},
			Calling: Calling{Header: legacy, Blocking: true, Message: v03Message, Part: readV03Part, Others: []Shape{V1}},
		},
		V03Proto: {
			Shape: V03Proto, Name: "v0.3-proto", Version: legacy,
			Codec:   Codec{protoRequest, protoResult, always(protoFrames), protoField},
			Serving: Serving{Adapt: adaptProto},
			Calling: Calling{Header: legacy, Blocking: true, Part: readProtoPart},
		},
	}
}

// String returns the name of s, such as "v0.3".
func (s Shape) String() string {
	if dialects := all(); s < numShapes && dialects[s] != nil {
		return dialects[s].Name
	}
	return "Shape(" + strconv.Itoa(int(s)) + ")"
}

// ParseShape returns the dialect with the given name, such as "v0.3". The result is false if
// the program has none.
func ParseShape(name string) (Shape, bool) {
	for _, d := range all() {
		if d != nil && d.Name == name {
			return d.Shape, true
		}
	}
	return V1, false
}

// Others returns the dialects to try, in this order, if a peer does not support the dialect of its
// card.
func (s Shape) Others() []Shape {
	if s != V1 {
		return Of(s).Calling.Others
	}
	others := []Shape{V03}
	for _, d := range added() {
		if d.Calling.Instead != nil {
			others = append(others, d.Shape)
		}
	}
	return others
}

// Request returns the v1.0 params of a call in the dialect s, for a Decoder with Fill. Errors
// wrap a2a.ErrInvalidParams and name the field as the caller spelled it.
func (s Shape) Request(o Operation, params []byte) ([]byte, error) {
	if f := Of(s).Codec.Request; f != nil {
		return f(o, params)
	}
	return params, nil
}

// Blame returns an error about a field of the v1.0 params with the dialect's name of the field.
// Other errors are returned unchanged.
func (s Shape) Blame(o Operation, err error) error {
	var received *apierror.Error
	field := Of(s).Codec.Field
	if field == nil || !errors.As(err, &received) || len(received.Violations) != 1 {
		return err
	}
	v := received.Violations[0]
	name := field(o, v.Field)
	if name == v.Field || received.Message != v.Field+": "+v.Problem {
		return err
	}
	renamed := apierror.Field(received.Err, name, "%s", v.Problem)
	renamed.Meta, renamed.RetryAfter = received.Meta, received.RetryAfter
	return renamed
}

// AppendResult appends the result of a call, converted from v1.0. In v0.3 and dialects derived from it
// the result of a streaming operation is one frame, converted on its own; Frames converts the
// frames of a whole stream.
func (s Shape) AppendResult(dst []byte, o Operation, v1 []byte) []byte {
	if f := Of(s).Codec.Result; f != nil {
		return f(dst, o, v1)
	}
	return append(dst, v1...)
}

// Frames returns a function that converts the frames of one stream in their order: a v1.0 frame
// becomes zero or more frames. The streams of some dialects end with the answer as a message; whole
// returns the v1.0 Task for it, or nil if it cannot be read. Without whole, that message is left
// out unless the status has it.
func (s Shape) Frames(whole func() []byte) func(v1 []byte) [][]byte {
	if f := Of(s).Codec.Frames; f != nil {
		return f(whole)
	}
	return func(v1 []byte) [][]byte { return [][]byte{v1} }
}

// AppendFrame appends a v1.0 StreamResponse as the body of a notification.
func (s Shape) AppendFrame(dst, v1 []byte) []byte {
	if f := Of(s).Pushing.Frame; f != nil {
		return f(dst, v1)
	}
	return append(dst, v1...)
}

// Codes that some dialects lack, and their replacements.
const (
	codeUnsupported    = -32004
	codeNeedsExtension = -32008
)

// Adapt replaces codes of a report that the dialect lacks.
func (s Shape) Adapt(r *Report) {
	if f := Of(s).Serving.Adapt; f != nil {
		f(r)
	}
}

// adaptV03: v0.3 has no code for a required extension.
func adaptV03(r *Report) {
	if r.Code == codeNeedsExtension {
		r.Code = codeUnsupported
	}
}

// adaptProto replaces the gRPC status, because clients of v0.3 read every FAILED_PRECONDITION as a
// task that cannot be canceled.
func adaptProto(r *Report) {
	switch {
	case r.Sentinel == a2a.ErrExtendedCardNotConfigured:
		r.GRPC = NotFound
	case r.GRPC == FailedPrecondition && r.Sentinel != a2a.ErrTaskNotCancelable:
		r.GRPC = Unimplemented
	}
}
