package dialect

// Request returns the v1.0 params of a call in the dialect s. They are for a Decoder
// with Fill. Errors wrap a2a.ErrInvalidParams and name the field as the caller wrote it.
func (s Shape) Request(o Operation, params []byte) ([]byte, error) {
	return codecOf(s).request(o, params)
}

// Blame returns an error about a field of the v1.0 params with the name that the field
// has in the dialect. Other errors stay as they are.
func (s Shape) Blame(o Operation, err error) error { return codecOf(s).blame(o, err) }

// AppendResult appends the result of a call from that of v1.0.
func (s Shape) AppendResult(dst []byte, o Operation, v1 []byte) []byte {
	return codecOf(s).result(dst, o, v1)
}

// Frames returns what rewrites the frames of one stream, in their order: a v1.0 frame
// becomes none, one or several.
func (s Shape) Frames() func(v1 []byte) [][]byte { return codecOf(s).stream().frames }

var promptKitCodec = codec{
	request: promptKitRequest,
	result:  promptKitResult,
	stream:  func() framer { return new(promptKitStream) },
	field:   promptKitField,
}

var rockBotCodec = codec{
	request: rockBotRequest,
	result:  rockBotResult,
	stream:  func() framer { return new(rockBotStream) },
	field:   promptKitField,
}

// promptKitField returns the name of a field that a dialect with blocking calls so.
func promptKitField(_ Operation, v1 string) string {
	if v1 == "configuration.returnImmediately" {
		return "configuration.blocking"
	}
	return v1
}
