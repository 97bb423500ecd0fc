package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Options configure a server. The zero value is ready to use.
type Options struct {
	// Record receives a line of JSON for each request, with credentials in headers hidden. If
	// nil, requests are only kept in memory. Close returns a write error.
	Record io.Writer
	// URL is the address in cards, without a trailing slash. If empty, it is derived from the
	// Host header of each request.
	URL string
	// Interfaces are additional interfaces in the card of every agent, such as a gRPC interface
	// that RequestHandler serves.
	Interfaces []*a2a.AgentInterface
}

// Server serves scripted agents over HTTP. It is an http.Handler.
type Server struct {
	agents   []*agent
	options  Options
	state    *state
	recorder *recorder
	ctx      context.Context // canceled by Close
	stop     context.CancelFunc
	runs     sync.WaitGroup // scripts
}

// New returns a server for the agents of c, which must not change afterwards. The error is an
// [yamlfile.Errors] if c is invalid. The caller must call Close.
func New(c *Config, o Options) (*Server, error) {
	var problems yamlfile.Errors
	agents := compile(c, func(key, format string, args ...any) {
		problems = append(problems, &yamlfile.Error{File: "mock", Key: key, Problem: fmt.Sprintf(format, args...)})
	})
	if len(problems) > 0 {
		return nil, problems
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Server{agents: agents, options: o, state: newState(), recorder: newRecorder(o.Record), ctx: ctx, stop: stop}, nil
}

// Close aborts all scripts and calls, and waits for the scripts. It returns the first error of
// writing to Options.Record.
func (s *Server) Close() error {
	s.state.mu.Lock() // no script begins after this
	s.stop()
	s.state.mu.Unlock()
	s.runs.Wait()
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return s.recorder.failed
}

// Serve serves on l until ctx ends or the server is closed. It then aborts running calls.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		cancel()
		return err
	}
	return nil
}

// agentNamed returns the named agent, the first one if name is empty, or nil.
func (s *Server) agentNamed(name string) *agent {
	if name == "" {
		return s.agents[0]
	}
	for _, a := range s.agents {
		if a.name == name {
			return a
		}
	}
	return nil
}

// bound returns a context that also ends with the server.
func (s *Server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
