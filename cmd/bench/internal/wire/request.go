package wire

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Request is a request that is sent many times, with a variable number in it.
type Request struct {
	bytes []byte
	// marks are the offsets of the variable number.
	marks []int
}

// Mark is the placeholder of the variable number: MarkLen hexadecimal digits.
const Mark = "################"

// MarkLen is the length of Mark.
const MarkLen = len(Mark)

// Post returns a POST of a JSON body to path. Each Mark in the body is a placeholder for the
// variable number. Further headers are lines such as "X-Owner: anna".
func Post(path, body string, headers ...string) *Request {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: localhost\r\n", path)
	b.WriteString("Content-Type: application/json\r\nA2A-Version: 1.0\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	r := &Request{bytes: []byte(b.String())}
	for from := 0; ; {
		i := strings.Index(b.String()[from:], Mark)
		if i < 0 {
			return r
		}
		r.marks = append(r.marks, from+i)
		from += i + MarkLen
	}
}

// Get returns a GET of path.
func Get(path string) *Request {
	return &Request{bytes: []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")}
}

// Call is Post of a JSON-RPC request to the root of a server.
func Call(method, params string, headers ...string) *Request {
	return Post("/", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, headers...)
}

// Clone returns a copy for another connection.
func (r *Request) Clone() *Request {
	return &Request{bytes: append([]byte(nil), r.bytes...), marks: r.marks}
}

// With writes n into the placeholders and returns the bytes, which are valid until the next
// call.
func (r *Request) With(n uint64) []byte {
	for _, at := range r.marks {
		PutMark(r.bytes[at:], n)
	}
	return r.bytes
}

// PutMark writes n into the first MarkLen bytes of dst, like With.
func PutMark(dst []byte, n uint64) {
	raw := [8]byte{
		byte(n >> 56), byte(n >> 48), byte(n >> 40), byte(n >> 32),
		byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n),
	}
	hex.Encode(dst, raw[:])
}
