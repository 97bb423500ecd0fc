package wire

import (
	"bytes"
	"fmt"
	"io"
)

// Stream is the answer to a request, as server-sent events.
type Stream struct {
	c *Conn
	h head
	// data[pos:] was read and not used.
	data []byte
	pos  int
	// left is the number of unread bytes of a body of known length.
	left int
}

// Stream writes a whole request whose answer is a stream.
func (c *Conn) Stream(request []byte) (*Stream, error) {
	if _, err := c.nc.Write(request); err != nil {
		return nil, err
	}
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	if h.status != 200 {
		body, _ := c.readBody(h)
		return nil, fmt.Errorf("%w: status %d: %.300s", ErrAnswer, h.status, body)
	}
	return &Stream{c: c, h: h, left: h.length}, nil
}

// Next returns the data of the next event, valid until the next call, or io.EOF when the stream
// has ended. Comments, ids and event names are skipped; an event has one data line.
func (s *Stream) Next() ([]byte, error) {
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimPrefix(data, []byte(" ")), nil
		}
	}
}

// line returns the next line of the body without its end.
func (s *Stream) line() ([]byte, error) {
	for from := s.pos; ; {
		if i := bytes.IndexByte(s.data[from:], '\n'); i >= 0 {
			line := s.data[s.pos : from+i]
			s.pos = from + i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		rest := len(s.data) - s.pos
		if err := s.more(); err != nil {
			if err == io.EOF && rest > 0 {
				return nil, fmt.Errorf("%w: the stream ends within a line", ErrAnswer)
			}
			return nil, err
		}
		from = s.pos + rest
	}
}

// more adds the next piece of the body to data.
func (s *Stream) more() error {
	if s.pos > 0 {
		s.data = s.data[:copy(s.data, s.data[s.pos:])]
		s.pos = 0
	}
	piece, err := s.piece()
	if err != nil {
		return err
	}
	s.data = append(s.data, piece...)
	return nil
}

func (s *Stream) piece() ([]byte, error) {
	if s.h.chunked {
		piece, err := s.c.chunk()
		if err == nil && piece == nil {
			return nil, io.EOF
		}
		return piece, err
	}
	if s.left == 0 {
		return nil, io.EOF
	}
	if s.c.r == s.c.w {
		if err := s.c.fill(); err != nil {
			return nil, err
		}
	}
	n := min(s.left, s.c.w-s.c.r)
	s.left -= n
	return s.c.take(n)
}
