package hostile

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// The frames of HTTP/2 (RFC 9113 §6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9

	endStream  = 0x1
	endHeaders = 0x4
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// frame returns a frame as bytes.
func frame(kind, flags byte, stream uint32, payload string) string {
	var head [9]byte
	head[0], head[1], head[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:], stream)
	return string(head[:]) + payload
}

// settings is the client's settings frame, which is empty.
var settings = frame(frameSettings, 0, 0, "")

// window lets the server send a gibibyte of data. Without it, answers to streams that are reset
// too late use up the connection's first 64 KiB, and the server may send no more.
var window = frame(frameWindow, 0, 0, "\x40\x00\x00\x00")

// block is a block of headers, each a literal without indexing (RFC 7541 §6.2.2).
func block(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteByte(0)
		b.WriteString(literal(pairs[i]) + literal(pairs[i+1]))
	}
	return b.String()
}

// literal returns a text with its length in front.
func literal(s string) string {
	n := len(s)
	if n < 127 {
		return string([]byte{byte(n)}) + s
	}
	head := []byte{127}
	for n -= 127; n >= 128; n >>= 7 {
		head = append(head, byte(n&0x7f)|0x80)
	}
	return string(append(head, byte(n))) + s
}

// asks returns the head of a request from alice.
func asks(method, path string, more ...string) string {
	return block(append([]string{":method", method, ":scheme", "http", ":path", path, ":authority", "127.0.0.1", "x-api-key", keyOf("alice")}, more...)...)
}

// http2 sends frames to a port, and returns the result of stream 1, or of the connection.
func http2(port string, frames func(w *world) string) send {
	return func(w *world) *answer {
		addr := w.hub.Addr()
		if port == "gRPC" {
			addr = w.grpc
		}
		c, err := w.dial(context.Background(), addr)
		if err != nil {
			return &answer{outcome: err.Error()}
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		done := make(chan struct{})
		go func() { // ends when all is written or the connection is closed
			defer close(done)
			_, _ = io.WriteString(c, preface+settings+window+frames(w))
		}()
		a := readFrames(bufio.NewReader(c))
		c.Close()
		<-done
		return a
	}
}

// readFrames reads until stream 1 or the connection has ended.
func readFrames(r *bufio.Reader) *answer {
	a := &answer{}
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			a.outcome = cut
			if !gone(err) {
				a.outcome = "nothing comes"
			}
			return a
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(r, payload); err != nil {
			a.outcome = cut
			return a
		}
		stream := binary.BigEndian.Uint32(head[5:])
		if stream == last {
			stream = 1
		}
		switch {
		case head[3] == frameGoAway:
			a.outcome = cut // its error may be lost through a reset of the connection
			return a
		case stream == 1 && head[3] == frameReset:
			a.outcome = fmt.Sprintf("reset with error %d", binary.BigEndian.Uint32(payload))
			return a
		case stream == 1 && head[3] == frameHeaders:
			a.head = append(a.head, payload...)
		case stream == 1 && head[3] == frameData:
			a.body = append(a.body, payload...)
		}
		if stream == 1 && (head[3] == frameData || head[3] == frameHeaders) && head[4]&endStream != 0 {
			a.outcome = strings.TrimSpace("answered " + errorOf(a.body))
			return a
		}
	}
}

// one is a request on stream 1.
func one(head string, body ...string) func(*world) string {
	return func(*world) string {
		flags := byte(endHeaders)
		if len(body) == 0 {
			flags |= endStream
		}
		text := frame(frameHeaders, flags, 1, head)
		for i, b := range body {
			last := byte(0)
			if i == len(body)-1 {
				last = endStream
			}
			text += frame(frameData, last, 1, b)
		}
		return text
	}
}

// cut is the outcome of a connection that the hub closed for excess.
const cut = "connection ended"

// last is the highest stream id.
const last = 1<<31 - 1

// many repeats frames, each time on a new stream, and then sends a good request on the last
// stream.
func many(n int, f func(stream uint32) string) func(*world) string {
	return func(*world) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(uint32(2*i + 3)))
		}
		b.WriteString(frame(frameHeaders, endStream|endHeaders, last, asks("GET", "/healthz")))
		return b.String()
	}
}

const here = "HTTP"

var http2Rows = []row{
	{name: "the good one", send: http2(here, one(asks("GET", "/v1/a2a/tasks"))), want: "answered ok"},
	{name: "no key", send: http2(here, one(block(":method", "GET", ":scheme", "http", ":path", "/v1/a2a/tasks", ":authority", "127.0.0.1"))), want: "answered UNAUTHENTICATED"},
	{name: "a host elsewhere", send: http2(here, one(block(":method", "GET", ":scheme", "http", ":path", "/v1/a2a/tasks", ":authority", "evil.example"))), want: "answered UNAUTHORIZED"},
	{name: "two paths", send: http2(here, one(asks("GET", "/healthz", ":path", "/v1/a2a/tasks"))), want: "reset with error 1"},
	{name: "a path behind the headers", send: http2(here, one(asks("GET", "/healthz", "x-a", "b", ":path", "/x"))), want: "reset with error 1"},
	{name: "no path", send: http2(here, one(block(":method", "GET", ":scheme", "http", ":authority", "127.0.0.1"))), want: "reset with error 1"},
	{name: "a path with a line break", send: http2(here, one(asks("GET", "/healthz\r\nX-Evil: b"))), want: "reset with error 1"},
	{name: "a header with a line break", send: http2(here, one(asks("GET", "/healthz", "x-a", "b\r\nx-api-key: c"))), want: "reset with error 1"},
	{name: "a header in capitals", send: http2(here, one(asks("GET", "/healthz", "X-A", "b"))), want: "reset with error 1"},
	{name: "a header of the connection", send: http2(here, one(asks("POST", "/a2a", "transfer-encoding", "chunked"), "0\r\n\r\n")), want: "answered"},
	{name: "a length that is too small", send: http2(here, one(asks("POST", "/a2a", "content-type", "application/json", "content-length", "2"), `{}`+"GET /v1/a2a/tasks HTTP/1.1\r\n\r\n")), want: "reset with error 1"},
	{name: "a length that is too large", send: http2(here, one(asks("POST", "/a2a", "content-type", "application/json", "content-length", "200"), `{}`)), want: "answered -32700 PARSE_ERROR"},
	{name: "larger than allowed", send: http2(here, one(asks("POST", sendREST, "content-type", "application/json"), strings.Split(strings.Repeat(strings.Repeat(" ", 16_000)+"|", 5), "|")...)), want: "answered REQUEST_TOO_LARGE"},
	{name: "two keys", send: http2(here, one(asks("GET", "/v1/a2a/tasks", "x-api-key", "sk-nobody-000000000000"))), want: "answered UNAUTHENTICATED"},
	{name: "a head of 200 KiB", send: http2(here, func(*world) string {
		return frame(frameHeaders, endStream, 1, asks("GET", "/healthz")) + strings.Repeat(frame(frameContinuation, 0, 1, block("x-a", strings.Repeat("b", 16000))), 12) + frame(frameContinuation, endHeaders, 1, "")
	}), want: "answered REQUEST_TOO_LARGE"},
	{name: "a head without an end", send: http2(here, func(*world) string {
		return frame(frameHeaders, endStream, 1, asks("GET", "/healthz")) + strings.Repeat(frame(frameContinuation, 0, 1, block("x-a", strings.Repeat("b", 16000))), 1000)
	}), want: cut},
	{name: "a head without an end, on gRPC", send: http2("gRPC", func(*world) string {
		return frame(frameHeaders, endStream, 1, asks("POST", list)) + strings.Repeat(frame(frameContinuation, 0, 1, block("x-a", strings.Repeat("b", 16000))), 2000)
	}), want: cut},
	{name: "a head that unpacks", send: http2(here, func(*world) string {
		// One long header is put into the dynamic table, and then referenced ten thousand
		// times.
		remembered := "\x40" + literal("x-a") + literal(strings.Repeat("b", 3900))
		return frame(frameHeaders, endStream|endHeaders, 1, asks("GET", "/healthz")+remembered+strings.Repeat("\xbe", 10_000))
	}), want: "answered"},
	{name: "resets without an end", send: http2(here, many(20_000, func(s uint32) string {
		return frame(frameHeaders, endStream|endHeaders, s, asks("GET", "/v1/a2a/tasks")) + frame(frameReset, 0, s, "\x00\x00\x00\x08")
	})), want: "answered ok or connection ended"},
	{name: "settings without an end", send: http2(here, many(50_000, func(uint32) string { return settings })), want: "answered ok or connection ended"},
	{name: "pings without an end", send: http2(here, many(50_000, func(uint32) string { return frame(framePing, 0, 0, "12345678") })), want: "answered ok or connection ended"},
	{name: "more streams than allowed", send: http2(here, many(400, func(s uint32) string {
		return frame(frameHeaders, endHeaders, s, asks("POST", "/a2a", "content-type", "application/json"))
	})), want: "reset with error 7"},
	{name: "a stream of the server's", send: http2(here, func(*world) string { return frame(frameHeaders, endStream|endHeaders, 2, asks("GET", "/healthz")) }), want: cut},
	{name: "data of no stream", send: http2(here, func(*world) string { return frame(frameData, 0, 0, "x") }), want: cut},
	{name: "a window beyond 2^31", send: http2(here, func(*world) string { return strings.Repeat(frame(frameWindow, 0, 0, "\x7f\xff\xff\xff"), 2) }), want: cut},
	{name: "a frame that is too large", send: http2(here, func(*world) string { return frame(frameData, 0, 1, strings.Repeat("x", 2<<20)) }), want: cut},
	{name: "an index of headers that is none", send: http2(here, func(*world) string { return frame(frameHeaders, endStream|endHeaders, 1, "\xff\xff\xff\xff\x07") }), want: cut},
	{name: "rubbish on gRPC", send: http2("gRPC", func(*world) string { return strings.Repeat("\xff", 4096) }), want: cut},
}
