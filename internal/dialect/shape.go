package dialect

import (
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Shape is a dialect in its stored form, beside tasks and webhooks: the wire format of a
// caller's requests and responses. The zero Shape is v1.0. The numbers are stored and must not
// change.
type Shape uint8

// The shapes.
const (
	// V1 is v1.0.
	V1 Shape = iota
	// V03 is JSON-RPC of v0.3: objects with a kind, states in kebab case.
	V03
	// V03Proto is ProtoJSON of the proto of v0.3, which its HTTP+JSON clients write.
	V03Proto
	// PromptKit is PromptKit's derivative of v0.3.
	PromptKit
	// RockBot is the gateway of RockBot.
	RockBot
	// Job is POST /tasks/send, the one operation of some agents.
	Job
	numShapes
)

var shapeNames = [numShapes]string{"v1.0", "v0.3", "v0.3-proto", "promptkit", "rockbot", "rockbot-task"}

// String returns the name of s, such as "v0.3".
func (s Shape) String() string {
	if s >= numShapes {
		return "Shape(" + strconv.Itoa(int(s)) + ")"
	}
	return shapeNames[s]
}

// ParseShape returns the dialect with the given name, such as "v0.3". The result is false if
// there is none.
func ParseShape(name string) (Shape, bool) {
	for s := V1; s < numShapes; s++ {
		if shapeNames[s] == name {
			return s, true
		}
	}
	return V1, false
}

// Request returns the v1.0 params of a call in the dialect s, for a Decoder with Fill. Errors
// wrap a2a.ErrInvalidParams and name the field as the caller spelled it.
func (s Shape) Request(o Operation, params []byte) ([]byte, error) {
	return s.codec().request(o, params)
}

// Blame returns an error about a field of the v1.0 params with the dialect's name of the field.
// Other errors are returned unchanged.
func (s Shape) Blame(o Operation, err error) error { return s.codec().blame(o, err) }

// AppendResult appends the result of a call, converted from v1.0. In V03 and PromptKit the
// result of a streaming operation is one frame, converted on its own; Frames converts the
// frames of a whole stream.
func (s Shape) AppendResult(dst []byte, o Operation, v1 []byte) []byte {
	return s.codec().result(dst, o, v1)
}

// Frames returns a function that converts the frames of one stream in their order: a v1.0 frame
// becomes zero or more frames. The streams of RockBot end with the answer as a message; whole
// returns the v1.0 Task for it, or nil if it cannot be read. Without whole, that message is left
// out unless the status has it.
func (s Shape) Frames(whole func() []byte) func(v1 []byte) [][]byte {
	return s.codec().stream(whole).frames
}

// Codes that some dialects lack, and their replacements.
const (
	codeNotFound       = -32001
	codeNotCancelable  = -32002
	codeUnsupported    = -32004
	codeNeedsExtension = -32008
)

// Adapt replaces codes of a report that the dialect lacks: v0.3 has none for a required
// extension, and PromptKit none for a task that cannot be canceled. In the shape of the proto
// it replaces the gRPC status, because clients of v0.3 read every FAILED_PRECONDITION as a task
// that cannot be canceled.
func (s Shape) Adapt(r *Report) {
	switch {
	case s == V03 && r.Code == codeNeedsExtension:
		r.Code = codeUnsupported
	case s == PromptKit && r.Code == codeNotCancelable:
		r.Code = codeNotFound
	case s == V03Proto && r.Sentinel == a2a.ErrExtendedCardNotConfigured:
		r.GRPC = NotFound
	case s == V03Proto && r.GRPC == FailedPrecondition && r.Sentinel != a2a.ErrTaskNotCancelable:
		r.GRPC = Unimplemented
	}
}
