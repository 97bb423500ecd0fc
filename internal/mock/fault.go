package mock

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	// slowPiece and slowPause are the size and the pause of the pieces of a slow answer.
	slowPiece = 16
	slowPause = 10 * time.Millisecond
)

// garbage is not JSON, and no prefix of it is.
const garbage = "<!doctype html>{\"jsonrpc\": \x00\xff]"

// inject injects a fault in place of an answer.
func (c *call) inject(f Fault) {
	c.record.Problem = "fault: " + string(f)
	c.begin()
	switch f {
	case Hang:
		<-c.r.Context().Done()
	case Garbage:
		c.respond(http.StatusOK, []byte(garbage))
	case Truncated:
		c.fault = Truncated
		c.respond(http.StatusOK, []byte(`{"jsonrpc":"2.0","result":{"task":{"id":"`))
	case Close:
		c.w.WriteHeader(http.StatusOK)
	default:
		c.reset()
	}
}

// injectStream injects a fault into a stream.
func (c *call) injectStream(f Fault) {
	switch f {
	case Hang:
		<-c.r.Context().Done()
	case Garbage:
		c.write(c.r.Context(), []byte("data: "+garbage+"\n\n"))
	case Truncated:
		c.write(c.r.Context(), []byte(`data: {"jsonrpc":"2.0","result":{"stat`))
		panic(http.ErrAbortHandler)
	case Close:
	default:
		c.reset()
	}
}

// reset aborts the connection, or over HTTP/2 the stream.
func (c *call) reset() {
	conn, _, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing then sends a reset
	}
	conn.Close()
}

// write writes bytes of an answer: at once, in pieces, or half of them. The context ends if the
// client disconnects.
func (c *call) write(ctx context.Context, b []byte) {
	rc := http.NewResponseController(c.w)
	send := func(b []byte) {
		_, _ = c.w.Write(b)
		_ = rc.Flush()
	}
	switch c.fault {
	case Truncated:
		send(b[:len(b)/2])
		panic(http.ErrAbortHandler)
	case Slow:
		for len(b) > slowPiece && pause(ctx, slowPause) {
			send(b[:slowPiece])
			b = b[slowPiece:]
		}
	}
	send(b)
}
