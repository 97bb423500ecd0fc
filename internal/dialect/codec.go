package dialect

import (
	"errors"

	"github.com/parley-a2a/parley/internal/apierror"
)

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
	var told *apierror.Error
	if c.field == nil || !errors.As(err, &told) || len(told.Violations) != 1 {
		return err
	}
	v := told.Violations[0]
	name := c.field(o, v.Field)
	if name == v.Field || told.Message != v.Field+": "+v.Problem {
		return err
	}
	renamed := apierror.Field(told.Err, name, "%s", v.Problem)
	renamed.Meta, renamed.RetryAfter = told.Meta, told.RetryAfter
	return renamed
}

// codecs are those of all shapes. A job of RockBot is no call, and is read and answered
// by functions of its own.
var codecs = [numShapes]codec{
	V1:          {sameRequest, sameResult, always(sameFrames), nil},
	V03:         {v03Request, v03Result, always(v03Frames), v03Field},
	V03Proto:    {protoRequest, protoResult, always(protoFrames), protoField},
	PromptKit:   {promptKitRequest, promptKitResult, func() framer { return new(promptKitStream) }, promptKitField},
	RockBot:     {rockBotRequest, rockBotResult, func() framer { return new(rockBotStream) }, promptKitField},
	RockBotTask: {sameRequest, sameResult, always(sameFrames), jobField},
}

// V1 stays as it is.
func sameRequest(_ Operation, params []byte) ([]byte, error) { return params, nil }

func sameResult(dst []byte, _ Operation, v1 []byte) []byte { return append(dst, v1...) }

func sameFrames(v1 []byte) [][]byte { return [][]byte{v1} }

// always begins streams whose frames remember nothing.
func always(f framerFunc) func() framer { return func() framer { return f } }

// codec returns the codec of s. A number that a later version has stored is answered as
// v1.0.
func (s Shape) codec() *codec {
	if s < numShapes {
		return &codecs[s]
	}
	return &codecs[V1]
}
