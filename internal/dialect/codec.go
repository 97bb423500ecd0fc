package dialect

import (
	"errors"

	"github.com/parley-a2a/parley/internal/apierror"
)

// codec converts one shape into v1.0 and back, as text. Its functions are pure. They require
// checked JSON and write valid JSON on one line.
type codec struct {
	// request returns the v1.0 params of a call, for a Decoder with Fill. Params may be nil.
	// Errors name the field as the caller spelled it.
	request func(o Operation, params []byte) ([]byte, error)
	// result appends the result of a call, converted from v1.0.
	result func(dst []byte, o Operation, v1 []byte) []byte
	// stream returns a framer for a new stream; see Shape.Frames.
	stream func(whole func() []byte) framer
	// field returns the name of a v1.0 params field in this shape. If nil, all names are the
	// same.
	field func(o Operation, v1 string) string
}

// framer converts the frames of one stream.
type framer interface {
	// frames converts a v1.0 frame into zero or more frames of the shape.
	frames(v1 []byte) [][]byte
}

// framerFunc is a stateless framer.
type framerFunc func(v1 []byte) [][]byte

func (f framerFunc) frames(v1 []byte) [][]byte { return f(v1) }

// blame returns err with its field names replaced by those of the shape.
func (c *codec) blame(o Operation, err error) error {
	var received *apierror.Error
	if c.field == nil || !errors.As(err, &received) || len(received.Violations) != 1 {
		return err
	}
	v := received.Violations[0]
	name := c.field(o, v.Field)
	if name == v.Field || received.Message != v.Field+": "+v.Problem {
		return err
	}
	renamed := apierror.Field(received.Err, name, "%s", v.Problem)
	renamed.Meta, renamed.RetryAfter = received.Meta, received.RetryAfter
	return renamed
}

// codecs holds the codec of each shape. Jobs are not calls; functions of their own read
// and answer them.
var codecs = [numShapes]codec{
	V1:        {sameRequest, sameResult, always(sameFrames), nil},
	V03:       {v03Request, v03Result, always(v03Frames), v03Field},
	V03Proto:  {protoRequest, protoResult, always(protoFrames), protoField},
	PromptKit: {promptKitRequest, promptKitResult, func(func() []byte) framer { return new(promptKitStream) }, promptKitField},
	RockBot:   {rockBotRequest, rockBotResult, func(whole func() []byte) framer { return &rockBotStream{whole} }, promptKitField},
	Job:       {sameRequest, sameResult, always(sameFrames), jobField},
}

// The codec of V1 changes nothing.
func sameRequest(_ Operation, params []byte) ([]byte, error) { return params, nil }

func sameResult(dst []byte, _ Operation, v1 []byte) []byte { return append(dst, v1...) }

func sameFrames(v1 []byte) [][]byte { return [][]byte{v1} }

// always returns a constructor of streams that use the stateless framer f.
func always(f framerFunc) func(func() []byte) framer { return func(func() []byte) framer { return f } }

// codec returns the codec of s. A shape number stored by a later version gets the codec of
// v1.0.
func (s Shape) codec() *codec {
	if s < numShapes {
		return &codecs[s]
	}
	return &codecs[V1]
}
