package dialect

// AppendRPCResult appends a JSON-RPC response with a result (specification §9.4).
// A nil id is written as null.
func AppendRPCResult(dst, id, result []byte) []byte {
	dst = append(appendEnvelope(dst, id), `"result":`...)
	return append(append(dst, result...), '}')
}

func appendEnvelope(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if len(id) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, id...)
	}
	return append(dst, ',')
}

// Envelope is the JSON text around the results of one JSON-RPC request. A stream creates it
// once and writes it around each of its frames (specification §9.4.2). The zero Envelope is
// empty, as HTTP+JSON requires.
type Envelope struct {
	open []byte
	shut string
}

// NewEnvelope returns the envelope of the request with the given id.
func NewEnvelope(id []byte) Envelope {
	open := make([]byte, 0, len(id)+len(`{"jsonrpc":"2.0","id":null,"result":`))
	return Envelope{open: append(appendEnvelope(open, id), `"result":`...), shut: "}"}
}

// Open appends the text before a result.
func (e Envelope) Open(dst []byte) []byte { return append(dst, e.open...) }

// Close appends the text after a result.
func (e Envelope) Close(dst []byte) []byte { return append(dst, e.shut...) }

// Append appends a frame in its envelope.
func (e Envelope) Append(dst, frame []byte) []byte {
	return e.Close(append(e.Open(dst), frame...))
}
