package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/membudget"
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
	// budget is that of large lines, last the memory of the one that Read has returned last.
	budget *membudget.Budget
	last   membudget.Taker
	// closed is closed with the pipe.
	closed chan struct{}

	mu   sync.Mutex // guards out and the fields below
	open int        // requests that were read and not yet answered
	idle chan struct{}
}

// Options configure a Pipe.
type Options struct {
	// Limit is the largest accepted message in bytes. It is required.
	Limit int
	// Bad is called for each invalid line; an error from it ends the connection. If nil, such
	// lines are answered with their errors.
	Bad func(*Fault) error
	// Ended is called when the other side has closed its output. Open requests may still be
	// answered for a while. It may be nil.
	Ended func()
	// Memory counts large messages until the next one is read. It may be nil.
	Memory *membudget.Budget
}

// Fault describes an invalid line.
type Fault struct {
	// Long is set if the line exceeds the limit.
	Long bool
	// Err is the error to answer with.
	Err *jsonrpc.Error
}

// NewPipe returns a connection that reads from in, which it closes, and writes to out. It reads
// nothing before Run.
func NewPipe(in io.ReadCloser, out io.Writer, o Options) *Pipe {
	return &Pipe{
		in: in, out: out, limit: o.Limit, bad: o.Bad, ended: o.Ended, lines: make(chan line), closed: make(chan struct{}),
		budget: o.Memory,
	}
}

// line is a line that was read, or an error.
type line struct {
	text []byte
	// long is set if the line exceeds the limit: text is its beginning.
	long bool
	err  error
	// memory is that of a large line.
	memory membudget.Taker
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
		_ = p.in.Close() // the other side may have closed it
	})
	return nil
}

// Run reads lines until the input ends, or until the pipe is closed, which also ends a blocked
// read.
func (p *Pipe) Run() {
	r := bufio.NewReaderSize(p.in, 64<<10)
	for {
		l := p.nextLine(r)
		select {
		case p.lines <- l:
		case <-p.closed:
			l.memory.Release()
			return
		}
		if l.err != nil {
			return
		}
	}
}

// messageFactor is the memory for a message while it is read and decoded, as a multiple of its size.
const messageFactor = 4

// nextLine reads a line and keeps at most limit bytes of it.
func (p *Pipe) nextLine(r *bufio.Reader) line {
	l := line{memory: membudget.Taker{Budget: p.budget, Factor: messageFactor}}
	for {
		piece, err := r.ReadSlice('\n')
		if len(l.text)+len(piece) > p.limit {
			l.long = true
			piece = piece[:p.limit-len(l.text)]
		}
		l.memory.Grow(context.Background(), int64(len(l.text)+len(piece)))
		l.text = append(l.text, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.text) > 0:
			return l // the next call returns the end
		}
		l.err = err
		return l
	}
}

// Read implements mcp.Connection. The SDK calls it again until it returns an error.
func (p *Pipe) Read(ctx context.Context) (_ jsonrpc.Message, err error) {
	defer func() {
		if err != nil {
			p.last.Release()
		}
	}()
	for {
		p.last.Release()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.closed:
			return nil, io.EOF
		case l := <-p.lines:
			p.last = l.memory
			if l.err != nil {
				p.settle()
				return nil, l.err
			}
			m, id, wrong := p.decode(l)
			if wrong != nil {
				if err := p.fault(&Fault{l.long, wrong}, id); err != nil {
					return nil, err
				}
			} else if m != nil {
				p.count(m, 1)
				return m, nil
			}
		}
	}
}

// count adds n for a request that was read (n > 0) or a response that was written (n < 0).
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

// lastAnswers is the time for responses after the other side has closed its output.
const lastAnswers = 5 * time.Second

// settle waits until all requests are answered, at most for lastAnswers.
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

// decode decodes a message. An empty line returns nil without an error.
func (p *Pipe) decode(l line) (m jsonrpc.Message, id json.RawMessage, wrong *jsonrpc.Error) {
	text := rawjson.Trim(l.text)
	switch {
	case l.long:
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a message has more than %d bytes", p.limit)}
	case len(text) == 0:
		return nil, nil, nil
	case !json.Valid(text):
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "a line is not JSON"}
	case text[0] == '[':
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "batches are not supported: send one message a line"}
	}
	if id, wrong := CheckID(text); wrong != nil {
		return nil, id, wrong
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "not a message of JSON-RPC 2.0: " + err.Error()}
	}
	return m, nil, nil
}

// fault handles an invalid line. id is that of its message, if it is known.
func (p *Pipe) fault(f *Fault, id json.RawMessage) error {
	if p.bad != nil {
		return p.bad(f)
	}
	b, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"` // null if it is nil
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, f.Err})
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
