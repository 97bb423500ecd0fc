package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Pipe is a connection over two pipes.
type Pipe struct {
	in    io.ReadCloser
	out   io.Writer
	limit int
	bad   func(*Fault) error
	ended func()
	lines chan line
	once  sync.Once
	// closed is closed with the pipe.
	closed chan struct{}

	mu   sync.Mutex // guards out and the fields below
	open int        // requests that were read and not answered
	idle chan struct{}
}

// Options say how a Pipe deals with its other side.
type Options struct {
	// Limit is the largest message that is taken, in bytes. It is required.
	Limit int
	// Bad is told of each line that is no message; an error from it ends the connection.
	// If nil, such lines are answered with their errors.
	Bad func(*Fault) error
	// Ended is told that the other side has said all that it will. What it has asked may
	// still be answered for a while. It may be nil.
	Ended func()
}

// Fault is what is wrong with a line.
type Fault struct {
	// Long says that it is larger than may be.
	Long bool
	// Err is what to answer.
	Err *jsonrpc.Error
}

// NewPipe returns a connection that reads from in, which it closes, and writes to out.
// Nothing is read before Run.
func NewPipe(in io.ReadCloser, out io.Writer, o Options) *Pipe {
	return &Pipe{in: in, out: out, limit: o.Limit, bad: o.Bad, ended: o.Ended, lines: make(chan line), closed: make(chan struct{})}
}

// line is what was read.
type line struct {
	text []byte
	// long says that there was more than may be: text is its beginning.
	long bool
	err  error
}

var _ mcp.Connection = (*Pipe)(nil)

// Connect implements mcp.Transport.
func (p *Pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements mcp.Connection: a pipe is one session.
func (p *Pipe) SessionID() string { return "" }

// Close implements mcp.Connection.
func (p *Pipe) Close() error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.in.Close() // it may have been closed by the other side
	})
	return nil
}

// Run reads lines until there are no more, or until the pipe is closed and reading from it
// ends by that.
func (p *Pipe) Run() {
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
func (p *Pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.closed:
			return nil, io.EOF
		case l := <-p.lines:
			if l.err != nil {
				p.settle()
				return nil, l.err
			}
			m, wrong := p.decode(l)
			if wrong != nil {
				if err := p.fault(&Fault{l.long, wrong}); err != nil {
					return nil, err
				}
			} else if m != nil {
				p.count(m, 1)
				return m, nil
			}
		}
	}
}

// count counts a request that was read, or an answer that was written.
func (p *Pipe) count(m jsonrpc.Message, n int) {
	switch m := m.(type) {
	case *jsonrpc.Request:
		if n < 0 || !m.IsCall() {
			return
		}
	case *jsonrpc.Response:
		if n > 0 {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open += n; p.open == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// lastAnswers is how long answers may take after the other side has ended.
const lastAnswers = 5 * time.Second

// settle waits until all requests are answered, but not for long.
func (p *Pipe) settle() {
	if p.ended == nil {
		return
	}
	p.ended()
	p.mu.Lock()
	if p.open == 0 {
		p.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	p.idle = idle
	p.mu.Unlock()
	timer := time.NewTimer(lastAnswers)
	defer timer.Stop()
	select {
	case <-idle:
	case <-p.closed:
	case <-timer.C:
	}
}

// decode reads a message; nil without an error is an empty line.
func (p *Pipe) decode(l line) (jsonrpc.Message, *jsonrpc.Error) {
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

// fault deals with a line that is no message.
func (p *Pipe) fault(f *Fault) error {
	if p.bad != nil {
		return p.bad(f)
	}
	b, err := json.Marshal(struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, f.Err})
	if err != nil {
		return err
	}
	return p.write(b)
}

// Write implements mcp.Connection.
func (p *Pipe) Write(_ context.Context, m jsonrpc.Message) error {
	defer p.count(m, -1)
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.write(b)
}

func (p *Pipe) write(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(b, '\n'))
	return err
}
