package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// ErrAnswer is wrapped by the errors of malformed answers.
var ErrAnswer = errors.New("bad answer")

// maxHead is the largest size of an answer's head in bytes.
const maxHead = 64 << 10

// Conn is one keep-alive connection.
type Conn struct {
	nc   net.Conn
	stop func() bool
	// buf[r:w] was read and not used.
	buf  []byte
	r, w int
	body []byte
}

// Dial connects to addr. When ctx ends, the connection is closed and pending operations return
// an error.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := newConn(nc)
	c.stop = context.AfterFunc(ctx, func() { nc.Close() })
	return c, nil
}

// DialTLS is Dial over TLS to a server with any certificate.
func DialTLS(ctx context.Context, addr string) (*Conn, error) {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := newConn(nc)
	c.stop = context.AfterFunc(ctx, func() { nc.Close() })
	return c, nil
}

func newConn(nc net.Conn) *Conn {
	return &Conn{nc: nc, stop: func() bool { return true }, buf: make([]byte, 4096)}
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.stop()
	return c.nc.Close()
}

// Do writes a whole request and returns the body of its answer, which is valid until
// the next call.
func (c *Conn) Do(request []byte) ([]byte, error) {
	if _, err := c.nc.Write(request); err != nil {
		return nil, err
	}
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	body, err := c.readBody(h)
	if err != nil {
		return nil, err
	}
	if h.status != 200 {
		return nil, fmt.Errorf("%w: status %d: %.300s", ErrAnswer, h.status, body)
	}
	return body, nil
}

// head contains the relevant values of an answer's head.
type head struct {
	status  int
	chunked bool
	length  int
}

// head reads the head of an answer.
func (c *Conn) head() (head, error) {
	for from := 0; ; {
		i := bytes.Index(c.buf[c.r+from:c.w], []byte("\r\n\r\n"))
		if i >= 0 {
			end := c.r + from + i
			h, err := parseHead(c.buf[c.r : end+2])
			c.r = end + 4
			return h, err
		}
		from = max(0, c.w-c.r-3)
		if c.w-c.r > maxHead {
			return head{}, fmt.Errorf("%w: the head is longer than %d bytes", ErrAnswer, maxHead)
		}
		if err := c.fill(); err != nil {
			return head{}, err
		}
	}
}

// fill reads more bytes, after making room for them.
func (c *Conn) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if c.w == len(c.buf) {
		if c.r > 0 {
			c.w = copy(c.buf, c.buf[c.r:c.w])
			c.r = 0
		} else {
			c.buf = append(c.buf, make([]byte, len(c.buf))...)
		}
	}
	n, err := c.nc.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHead parses a head whose lines end with CRLF.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) || len(line) < 12 {
		return h, fmt.Errorf("%w: status line %.60q", ErrAnswer, line)
	}
	var err error
	if h.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return h, fmt.Errorf("%w: status line %.60q", ErrAnswer, line)
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		name, value, _ := bytes.Cut(line, []byte(":"))
		if err := h.field(name, bytes.TrimSpace(value)); err != nil {
			return h, err
		}
	}
	if !h.chunked && h.length < 0 {
		return h, fmt.Errorf("%w: the answer has no length", ErrAnswer)
	}
	return h, nil
}

func (h *head) field(name, value []byte) error {
	switch {
	case equalFold(name, "content-length"):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return fmt.Errorf("%w: content length %.40q", ErrAnswer, value)
		}
		h.length = n
	case equalFold(name, "transfer-encoding"):
		h.chunked = equalFold(value, "chunked")
	}
	return nil
}

// equalFold compares a header with a lower-case ASCII name.
func equalFold(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}

// readBody reads the body that belongs to h.
func (c *Conn) readBody(h head) ([]byte, error) {
	if !h.chunked {
		return c.take(h.length)
	}
	c.body = c.body[:0]
	for {
		piece, err := c.chunk()
		if err != nil {
			return nil, err
		}
		if piece == nil {
			return c.body, nil
		}
		c.body = append(c.body, piece...)
	}
}

// take returns the next n bytes.
func (c *Conn) take(n int) ([]byte, error) {
	for c.w-c.r < n {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	b := c.buf[c.r : c.r+n]
	c.r += n
	return b, nil
}

// line returns the next line without its CRLF.
func (c *Conn) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(c.buf[c.r:c.w], '\n'); i >= 0 {
			b := c.buf[c.r : c.r+i]
			c.r += i + 1
			return bytes.TrimSuffix(b, []byte("\r")), nil
		}
		if c.w-c.r > maxHead {
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrAnswer, maxHead)
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// maxChunk is the largest size of one chunk of a chunked body in bytes.
const maxChunk = 64 << 20

// chunk returns the next chunk of a chunked body, or nil after the last one.
func (c *Conn) chunk() ([]byte, error) {
	size, err := c.line()
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(string(size), 16, 31)
	if err != nil || n > maxChunk {
		return nil, fmt.Errorf("%w: chunk size %.20q", ErrAnswer, size)
	}
	piece, err := c.take(int(n) + 2)
	if err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(piece, []byte("\r\n")) {
		return nil, fmt.Errorf("%w: a chunk has no end", ErrAnswer)
	}
	if n == 0 {
		return nil, nil
	}
	return piece[:n], nil
}
