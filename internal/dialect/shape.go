package dialect

import (
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Shape is a dialect as it is stored with tasks and webhooks: the concrete shape of
// what a caller sends and is sent. The zero Shape is v1.0. The numbers are stored and
// must not change.
type Shape uint8

// The shapes.
const (
	// V1 is v1.0.
	V1 Shape = iota
	// V03 is JSON-RPC of v0.3: objects with a kind, states in kebab case.
	V03
	// V03Proto is ProtoJSON of the proto of v0.3, which its HTTP+JSON clients write.
	V03Proto
	// PromptKit is PromptKit's offspring of v0.3.
	PromptKit
	// RockBot is the gateway of RockBot.
	RockBot
	// RockBotTask is the request of a RockBot agent over HTTP.
	RockBotTask
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

// ParseShape returns the dialect with the given name, such as "v0.3", and whether there
// is one.
func ParseShape(name string) (Shape, bool) {
	for s := V1; s < numShapes; s++ {
		if shapeNames[s] == name {
			return s, true
		}
	}
	return V1, false
}

// Request returns the v1.0 params of a call in the dialect s. They are for a Decoder
// with Fill. Errors wrap a2a.ErrInvalidParams and name the field as the caller wrote it.
func (s Shape) Request(o Operation, params []byte) ([]byte, error) {
	return s.codec().request(o, params)
}

// Blame returns an error about a field of the v1.0 params with the name that the field
// has in the dialect. Other errors stay as they are.
func (s Shape) Blame(o Operation, err error) error { return s.codec().blame(o, err) }

// AppendResult appends the result of a call from that of v1.0. In V03 and PromptKit the
// result of an operation that streams is one frame, rewritten by itself; Frames rewrites
// the frames of a whole stream.
func (s Shape) AppendResult(dst []byte, o Operation, v1 []byte) []byte {
	return s.codec().result(dst, o, v1)
}

// Frames returns what rewrites the frames of one stream, in their order: a v1.0 frame
// becomes none, one or several.
func (s Shape) Frames() func(v1 []byte) [][]byte { return s.codec().stream().frames }

// Codes that not every dialect knows, and what stands for them there.
const (
	codeNotFound       = -32001
	codeNotCancelable  = -32002
	codeUnsupported    = -32004
	codeNeedsExtension = -32008
)

// Adapt gives a report the code that callers of a dialect know: v0.3 has none for an
// extension that is required, and PromptKit none for a task that cannot be canceled. In
// the proto's shape it is the gRPC status: those of v0.3 read FAILED_PRECONDITION as a
// task that cannot be canceled, whatever else is said.
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
