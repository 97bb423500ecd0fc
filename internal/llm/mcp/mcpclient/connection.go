package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/wake"
)

// Requested versions of MCP. The first one has all required features, and every server with
// older versions supports it. The last one is for servers that support no other.
const (
	version       = "2025-11-25"
	versionModern = "2026-07-28"
)

// errEnded is returned if the server has closed the connection.
var errEnded = errors.New("the server has ended")

// errCutOff is returned if the server does not keep to the limits.
var errCutOff = errors.New("it was cut off")

// errSlow is returned if the server does not answer the first message.
var errSlow = errors.New("the server was not ready")

// errBroke is returned if a call has found the connection closed.
var errBroke = errors.New("a call broke off")

// connectOnce connects to the server and keeps its tools current until the connection or ctx
// ends. It returns the reason.
func (c *Client) connectOnce(ctx context.Context) error {
	err := c.connectWith(ctx, version)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound {
		return c.connectWith(ctx, versionModern)
	}
	return err
}

func (c *Client) connectWith(ctx context.Context, version string) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	relist := wake.New()
	client := mcp.NewClient(&mcp.Implementation{Name: "parley", Title: "Parley", Version: c.Version}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { relist.Send() },
		ProgressNotificationHandler: c.progress,
	})
	client.AddReceivingMiddleware(c.limitRate(cancel))
	transport, end, err := c.transport(&wg, cancel)
	if err != nil {
		return err
	}
	defer func() { err = end().explain(err) }()
	session, err := c.connect(ctx, client, transport, version)
	if err != nil {
		return err
	}
	defer func() {
		c.use(nil)
		cancel(nil)
		// All calls have ended, or end with the transport; nothing waits for the server.
		end()
		_ = session.Close()
	}()
	wg.Go(func() {
		err := session.Wait()
		if err == nil || errors.Is(err, io.EOF) {
			err = errEnded
		}
		cancel(err)
	})
	return c.follow(ctx, session, relist)
}

// connect performs the handshake.
func (c *Client) connect(ctx context.Context, client *mcp.Client, t mcp.Transport, version string) (*mcp.ClientSession, error) {
	slow := fmt.Errorf("%w within %v", errSlow, c.Limits.Handshake)
	shake, stop := context.WithTimeoutCause(ctx, c.Limits.Handshake, slow)
	defer stop()
	session, err := client.Connect(shake, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	switch {
	case err == nil:
		return session, nil
	case shake.Err() != nil:
		return nil, context.Cause(shake)
	}
	return nil, fmt.Errorf("connect: %w", err)
}

// follow lists the tools now and after each change, until ctx ends.
func (c *Client) follow(ctx context.Context, session *mcp.ClientSession, relist <-chan struct{}) error {
	if err := c.list(ctx, session); err != nil {
		return err
	}
	c.discardBroken()
	c.use(session)
	c.set(Ready, nil)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-c.broken:
			return err
		case <-relist:
			if err := c.list(ctx, session); err != nil {
				return err
			}
		}
	}
}

// discardBroken discards errors of an earlier connection.
func (c *Client) discardBroken() {
	select {
	case <-c.broken:
	default:
	}
}

// use makes session the connection for calls.
func (c *Client) use(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// exit describes the exit of a program; nil if the server is no program.
type exit struct {
	// how describes the exit, output is the end of the program's other output.
	how, output string
	// garbage is the number of invalid lines that the program has written.
	garbage int
}

// maxOutput is the largest number of bytes of a program's output in a reason.
const maxOutput = 400

// explain adds facts about the program's exit to the error of a connection.
func (e *exit) explain(err error) error {
	switch {
	case e == nil:
		return err
	case errors.Is(err, errSlow) && e.garbage > 0:
		return fmt.Errorf("%w; it has written %d lines that are not messages", err, e.garbage)
	case e.how == "" || !broken(err):
		return err
	case e.output == "":
		return fmt.Errorf("%w: %s", errEnded, e.how)
	}
	output := strings.ToValidUTF8(e.output[max(0, len(e.output)-maxOutput):], "")
	return fmt.Errorf("%w: %s: %s", errEnded, e.how, output)
}

// broken reports whether the end of the program's pipes may have caused err.
func broken(err error) bool {
	for _, gone := range []error{errEnded, errBroke, io.EOF, io.ErrClosedPipe, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// transport returns the transport to the server, and a function that ends the server and
// describes its exit.
func (c *Client) transport(wg *sync.WaitGroup, cancel context.CancelCauseFunc) (mcp.Transport, func() *exit, error) {
	if c.Start == nil {
		return c.httpTransport(), func() *exit { return nil }, nil
	}
	program, err := c.Start()
	if err != nil {
		return nil, nil, err
	}
	var garbage atomic.Int64
	pipe := stdio.NewPipe(program, program, stdio.Options{Limit: c.Limits.Message, Memory: c.Memory, Bad: func(f *stdio.Fault) error {
		if n := garbage.Add(1); !f.Long && n <= int64(c.Limits.Garbage) {
			c.Logger.Debug("an MCP server wrote a line that is not a message", "server", c.Name, "problem", f.Err.Message)
			return nil
		}
		err := fmt.Errorf("%w: %s", errCutOff, f.Err.Message)
		cancel(err)
		return err
	}})
	wg.Go(pipe.Run)
	return pipe, sync.OnceValue(func() *exit {
		_ = pipe.Close() // ends the program
		e := &exit{how: program.Ended(), output: strings.TrimSpace(program.Output()), garbage: int(garbage.Load())}
		if e.output != "" {
			c.Logger.Info("an MCP server has written", "server", c.Name, "text", e.output)
		}
		return e
	}), nil
}

// httpTransport returns the transport to a server over HTTP.
func (c *Client) httpTransport() mcp.Transport {
	client := &http.Client{}
	if c.HTTP != nil {
		*client = *c.HTTP
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &limitedTransport{client.Transport, c.Header, int64(c.Limits.Message), c.Memory}
	return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxRetries: 2, MaxEventSize: c.Limits.Message}
}

// limitedTransport adds headers to requests, and limits the size of responses other than
// streams.
type limitedTransport struct {
	next   http.RoundTripper
	header http.Header
	limit  int64
	memory *membudget.Budget
}

// RoundTrip implements http.RoundTripper.
func (b *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(b.header) > 0 {
		r = r.Clone(r.Context())
		for name, values := range b.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	resp, err := b.next.RoundTrip(r)
	if resp = httpcall.Veil(r, resp); err != nil || resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp, err
	}
	resp.Body = b.memory.Taken(r.Context(), &limitedBody{resp.Body, b.limit}, resultFactor)
	return resp, nil
}

// limitedBody is a body that fails once it exceeds its limit.
type limitedBody struct {
	io.ReadCloser

	left int64
}

// Read implements io.Reader.
func (s *limitedBody) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if s.left -= int64(n); s.left < 0 {
		return 0, errors.New("the answer is too large")
	}
	return n, err
}

// limitRate disconnects a server that sends too many unsolicited messages.
func (c *Client) limitRate(cancel context.CancelCauseFunc) mcp.Middleware {
	limiter := &rateLimiter{rate: float64(c.Limits.Rate), burst: 10 * float64(c.Limits.Rate)}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !limiter.take(time.Now()) {
				cancel(fmt.Errorf("%w: it sends more than %d messages a second, the last one %s", errCutOff, c.Limits.Rate, method))
				return nil, errors.New("too many messages")
			}
			return next(ctx, method, req)
		}
	}
}

// rateLimiter allows rate messages per second, with bursts of burst.
type rateLimiter struct {
	rate, burst float64

	mu   sync.Mutex // guards the fields below
	used float64
	at   time.Time
}

// take counts a message, and reports whether it is within the limit.
func (l *rateLimiter) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = max(0, l.used-now.Sub(l.at).Seconds()*l.rate)
	l.at = now
	l.used++
	return l.used <= l.burst
}
