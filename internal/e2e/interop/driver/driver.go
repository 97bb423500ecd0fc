package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Step is one call of an agent.
type Step struct {
	ID int `json:"id"`
	// Op is the operation; internal/e2e/interop lists the ops.
	Op string `json:"op"`
	// Agent is the name of an agent of the hub.
	Agent string `json:"agent"`
	// Params is the request.
	Params json.RawMessage `json:"params"`
	// Version is the protocol version to send; if empty, the library's own.
	Version string `json:"version"`
}

// Failure is an error of the protocol, as decoded by the library.
type Failure struct {
	// Code is the JSON-RPC code, or 0 if the library does not report it.
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the code and the message.
func (f *Failure) Error() string { return strconv.Itoa(f.Code) + ": " + f.Message }

// Peer is a client of another maker.
type Peer interface {
	// Do performs a step that has one answer. It returns a value that encodes to the answer, or
	// nil.
	Do(ctx context.Context, s *Step) (any, error)
	// Stream performs a step that has many answers. It stops when report returns false.
	Stream(ctx context.Context, s *Step, report func(event any) bool) error
}

// Params decodes the params of a step with the library. Params that the library cannot decode
// are an error in the test, so it panics.
func Params[T any](s *Step) *T {
	v := new(T)
	if err := json.Unmarshal(s.Params, v); err != nil {
		panic(fmt.Sprintf("the library does not read the params %s of %s: %v", s.Params, s.Op, err))
	}
	return v
}

// ErrNoOperation states that the library does not have the operation of a step.
var ErrNoOperation = errors.New("the library has no such operation")

type answer struct {
	ID     int      `json:"id"`
	Result any      `json:"result,omitempty"`
	Event  any      `json:"event,omitempty"`
	End    bool     `json:"end,omitempty"`
	Error  *Failure `json:"error,omitempty"`
}

// server is a running Serve.
type server struct {
	peer Peer

	mu   sync.Mutex // guards the fields below
	out  *json.Encoder
	stop map[int]context.CancelFunc
}

// Serve runs the steps of in until in ends, and prints the results of peer to out.
func Serve(in io.Reader, out io.Writer, peer Peer) error {
	s := &server{peer: peer, out: json.NewEncoder(out), stop: make(map[int]context.CancelFunc)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a step: %w", err)
		}
		step := new(Step)
		if err := json.Unmarshal(line, step); err != nil {
			return fmt.Errorf("read the step %q: %w", line, err)
		}
		if step.Op == "stop" {
			s.leave(step)
			continue
		}
		ctx, cancel := s.begin(ctx, step)
		wg.Go(func() {
			defer cancel()
			s.take(ctx, step)
		})
	}
}

func (s *server) begin(ctx context.Context, step *Step) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop[step.ID] = cancel
	return ctx, cancel
}

// leave ends the stream that a step names.
func (s *server) leave(step *Step) {
	var id int
	if json.Unmarshal(step.Params, &id) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.stop[id]; cancel != nil {
		cancel()
	}
}

func (s *server) take(ctx context.Context, step *Step) {
	a := answer{ID: step.ID}
	var err error
	if step.Op == "stream" || step.Op == "subscribe" {
		a.End = true
		err = s.peer.Stream(ctx, step, func(event any) bool {
			return s.print(answer{ID: step.ID, Event: event}) && ctx.Err() == nil
		})
	} else {
		a.Result, err = s.peer.Do(ctx, step)
		if a.Result == nil {
			a.Result = struct{}{}
		}
	}
	if err != nil {
		a = answer{ID: step.ID, Error: failure(err)}
	}
	s.print(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stop, step.ID)
}

func failure(err error) *Failure {
	if f := new(Failure); errors.As(err, &f) {
		return f
	}
	return &Failure{Message: err.Error()}
}

func (s *server) print(a answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(a) == nil
}
