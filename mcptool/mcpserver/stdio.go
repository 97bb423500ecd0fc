package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve speaks to one host, a message a line, until the host closes in, in cannot be
// read, or ctx ends. It closes in. Calls under way are canceled then, and have ended when
// Serve returns. The error is nil if the host has closed its pipe.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	d := s.open(ctx)
	defer d.close()
	pipe := &pipe{in: in, out: out, limit: d.Limits.Message, lines: make(chan line), closed: make(chan struct{})}
	ss, err := d.mcp.Connect(ctx, pipe, nil)
	if err != nil {
		return fmt.Errorf("serve a host: %w", err)
	}
	go pipe.read() // ends with in, or with the program where reading cannot be interrupted
	ended := make(chan error, 1)
	d.wg.Go(func() { ended <- ss.Wait() })
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		_ = pipe.Close()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("serve a host: %w", err)
}

// pipe is a connection with a host: messages are lines of JSON. Other lines are answered
// with an error and change nothing.
type pipe struct {
	in    io.ReadCloser
	out   io.Writer
	limit int
	lines chan line
	once  sync.Once
	// closed is closed with the pipe.
	closed chan struct{}

	mu sync.Mutex // guards out
}

// line is what was read.
type line struct {
	text []byte
	// long says that there was more than may be: text is its beginning.
	long bool
	err  error
}

var _ mcp.Connection = (*pipe)(nil)

// Connect implements mcp.Transport.
func (p *pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements mcp.Connection: a pipe is one session.
func (p *pipe) SessionID() string { return "" }

// Close implements mcp.Connection.
func (p *pipe) Close() error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.in.Close() // it may have been closed by the other side
	})
	return nil
}

// read reads lines until there are no more.
func (p *pipe) read() {
	r := bufio.NewReaderSize(p.in, 64<<10)
	for {
		l := nextLine(r, p.limit)
		select {
		case p.lines <- l:
		case <-p.closed:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// nextLine reads a line, of which it keeps no more than limit bytes.
func nextLine(r *bufio.Reader, limit int) line {
	var l line
	for {
		piece, err := r.ReadSlice('\n')
		if len(l.text)+len(piece) > limit {
			l.long = true
			piece = piece[:limit-len(l.text)]
		}
		l.text = append(l.text, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.text) > 0:
			return l // the next line is the end
		}
		l.err = err
		return l
	}
}

// Read implements mcp.Connection.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.closed:
			return nil, io.EOF
		case l := <-p.lines:
			if l.err != nil {
				return nil, l.err
			}
			m, wrong := p.decode(l)
			if wrong != nil {
				if err := p.refuse(wrong); err != nil {
					return nil, err
				}
			} else if m != nil {
				return m, nil
			}
		}
	}
}

// decode reads a message; nil without an error is an empty line.
func (p *pipe) decode(l line) (jsonrpc.Message, *jsonrpc.Error) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.long:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a message has more than %d bytes", p.limit)}
	case len(text) == 0:
		return nil, nil
	case !json.Valid(text):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "a line is not JSON"}
	case text[0] == '[':
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not taken: send one message a line"}
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not a message of JSON-RPC 2.0: " + err.Error()}
	}
	return m, nil
}

// refuse answers a line that is no message.
func (p *pipe) refuse(e *jsonrpc.Error) error {
	b, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, e})
	if err != nil {
		return err
	}
	return p.write(b)
}

// Write implements mcp.Connection.
func (p *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.write(b)
}

func (p *pipe) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(b, '\n'))
	return err
}
