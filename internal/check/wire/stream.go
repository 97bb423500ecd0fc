package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of streams.
const (
	maxBody   = 8 << 20
	maxEvents = 10_000
)

// Next returns the next frame. It returns false at the end; the Exchange has the reason.
func (s *Stream) Next() (Event, bool) {
	if s.source == nil || s.Exchange.Fault != nil || s.Exchange.Err != nil {
		return Event{}, false
	}
	if len(s.Exchange.Events) == maxEvents {
		s.Exchange.Err = fmt.Errorf("the stream has more than %d events", maxEvents)
		return Event{}, false
	}
	e, err := s.source.next()
	switch {
	case errors.Is(err, io.EOF):
		s.Exchange.Ended = true
		return Event{}, false
	case err != nil:
		s.Exchange.fail(s.ctx, err)
		return Event{}, false
	}
	s.Exchange.Events = append(s.Exchange.Events, e)
	s.Exchange.Got += string(e.Data) + "\n"
	if e.Fault != nil {
		s.Exchange.Fault, s.Exchange.Ended = e.Fault, true
	}
	return e, true
}

// fail stores the reason why there is no answer. It distinguishes a timeout from a broken
// connection.
func (x *Exchange) fail(ctx context.Context, err error) {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	x.Err = err
}

// sse reads the frames of an event stream.
type sse struct {
	body    io.ReadCloser
	r       *bufio.Reader
	unwrap  func(any) (any, *Fault)
	oversee int // remaining bytes
}

func (s *sse) close() { s.body.Close() }

func (s *sse) next() (Event, error) {
	data, err := s.frame()
	if err != nil {
		return Event{}, err
	}
	e := Event{Data: data}
	v, err := Decode(data)
	if err != nil {
		return Event{}, fmt.Errorf("an event is not JSON: %w: %s", err, clip(string(data), 200))
	}
	e.Envelope = v
	e.Value, e.Fault = s.unwrap(v)
	return e, nil
}

// frame returns the data of the next event with data.
func (s *sse) frame() ([]byte, error) {
	var data [][]byte
	for {
		line, err := s.line()
		if err != nil {
			if len(data) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		switch field, value, _ := bytes.Cut(line, []byte(":")); {
		case len(line) == 0 && len(data) > 0:
			return bytes.Join(data, []byte("\n")), nil
		case string(field) == "data":
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		}
	}
}

func (s *sse) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		if s.oversee -= len(part); s.oversee < 0 {
			return nil, fmt.Errorf("the stream has more than %d bytes", maxBody)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

func decodeNumbers(data []byte, v *any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// clip shortens s to n bytes and states the number of missing bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:n], ""), len(s)-n)
}
