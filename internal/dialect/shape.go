package dialect

import (
	"errors"
	"strconv"

	"github.com/parley-a2a/parley/internal/fault"
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

// codec turns one shape into v1.0 and back, as text. Its functions are pure and want
// JSON that has been checked; they write valid JSON on one line.
type codec struct {
	// request returns the v1.0 params of a call, for a Decoder with Fill. Params may be
	// nil. Errors name the field as the caller wrote it.
	request func(o Operation, params []byte) ([]byte, error)
	// result appends the result of a call from that of v1.0.
	result func(dst []byte, o Operation, v1 []byte) []byte
	// stream begins a stream.
	stream func() framer
	// field returns the name that a field of the v1.0 params has in this shape. If nil,
	// all names are the same.
	field func(o Operation, v1 string) string
}

// framer shows the frames of one stream.
type framer interface {
	// frames returns what shows a v1.0 frame: none, one or several frames.
	frames(v1 []byte) [][]byte
}

// framerFunc is a framer that remembers nothing.
type framerFunc func(v1 []byte) [][]byte

func (f framerFunc) frames(v1 []byte) [][]byte { return f(v1) }

// blame returns err with the names that its fields have in the shape.
func (c *codec) blame(o Operation, err error) error {
	var told *fault.Error
	if c.field == nil || !errors.As(err, &told) || len(told.Violations) != 1 {
		return err
	}
	v := told.Violations[0]
	name := c.field(o, v.Field)
	if name == v.Field || told.Message != v.Field+": "+v.Problem {
		return err
	}
	renamed := fault.Field(told.Err, name, "%s", v.Problem)
	renamed.Meta, renamed.RetryAfter = told.Meta, told.RetryAfter
	return renamed
}

// codecOf returns the codec of a shape. What has none, such as a number that a later
// version has stored, is answered as v1.0.
func codecOf(s Shape) *codec {
	switch s {
	case V03:
		return &v03Codec
	case V03Proto:
		return &protoCodec
	case PromptKit:
		return &promptKitCodec
	case RockBot:
		return &rockBotCodec
	}
	return &v1Codec
}

// v1Codec changes nothing.
var v1Codec = codec{
	request: func(_ Operation, params []byte) ([]byte, error) { return params, nil },
	result:  func(dst []byte, _ Operation, v1 []byte) []byte { return append(dst, v1...) },
	stream:  func() framer { return framerFunc(func(v1 []byte) [][]byte { return [][]byte{v1} }) },
}

var v03Codec = codec{
	request: v03Request,
	result:  v03Result,
	stream:  func() framer { return framerFunc(v03Frames) },
	field:   v03Field,
}

var protoCodec = codec{
	request: protoRequest,
	result:  protoResult,
	stream:  func() framer { return framerFunc(protoFrames) },
	field:   protoField,
}
