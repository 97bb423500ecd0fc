package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"google.golang.org/grpc"
)

// Op is an operation, by its name in JSON-RPC and gRPC.
type Op string

// The operations of v1.0 (specification §9.4).
const (
	SendMessage   Op = "SendMessage"
	StreamMessage Op = "SendStreamingMessage"
	GetTask       Op = "GetTask"
	ListTasks     Op = "ListTasks"
	CancelTask    Op = "CancelTask"
	SubscribeTask Op = "SubscribeToTask"
	CreatePush    Op = "CreateTaskPushNotificationConfig"
	GetPush       Op = "GetTaskPushNotificationConfig"
	ListPush      Op = "ListTaskPushNotificationConfigs"
	DeletePush    Op = "DeleteTaskPushNotificationConfig"
	ExtendedCard  Op = "GetExtendedAgentCard"
)

// Streams reports whether the operation answers with a stream.
func (o Op) Streams() bool {
	return o == StreamMessage || o == SubscribeTask || o == LegacyStream || o == LegacySubscribe
}

// Binding is a way to carry calls, in the words of the command line.
type Binding string

// The bindings.
const (
	JSONRPC Binding = "jsonrpc"
	REST    Binding = "rest"
	GRPC    Binding = "grpc"
)

// Interface is one way to reach an agent, as its card offers it.
type Interface struct {
	Binding Binding
	Version string // "1.0" or "0.3"
	URL     string
	Tenant  string
}

// String returns the binding with its version, such as "jsonrpc 1.0".
func (i Interface) String() string { return string(i.Binding) + " " + i.Version }

// NoVersion is the Request.Version that leaves the header away.
const NoVersion = "-"

// Request is one call.
type Request struct {
	Op     Op
	Params map[string]any
	// Version is the A2A-Version to send. If empty, it is that of the interface.
	Version string
	// Key replaces the credential, if not nil; an empty one sends none.
	Key *string
	// ID is the id of the JSON-RPC request; nil means a string of the caller's choice.
	ID any
	// Timeout replaces Options.Timeout, if not zero.
	Timeout time.Duration
}

// Conn is a connection over which gRPC calls go.
type Conn interface {
	grpc.ClientConnInterface
	Close() error
}

// Options say how to call.
type Options struct {
	// HTTP sends the requests. If nil, http.DefaultTransport does.
	HTTP http.RoundTripper
	// Dial connects to a gRPC interface. If nil, there is no gRPC.
	Dial func(ctx context.Context, url string) (Conn, error)
	// Key is the credential: a bearer token, sent as an API key as well in each of
	// KeyHeaders. If empty, none is sent.
	Key        string
	KeyHeaders []string
	// Timeout bounds each call, streams included; 10 s if zero.
	Timeout time.Duration
	// UserAgent names the caller.
	UserAgent string
}

// DefaultTimeout is the Timeout of the zero Options.
const DefaultTimeout = 10 * time.Second

// limit bounds one call.
func (o *Options) limit(ctx context.Context, replaced time.Duration) (context.Context, context.CancelFunc) {
	if replaced <= 0 {
		replaced = o.timeout()
	}
	return context.WithTimeoutCause(ctx, replaced, ErrTimeout)
}

func (o *Options) timeout() time.Duration {
	if o.Timeout <= 0 {
		return DefaultTimeout
	}
	return o.Timeout
}

func (o *Options) roundTripper() http.RoundTripper {
	if o.HTTP == nil {
		return http.DefaultTransport
	}
	return o.HTTP
}

// ErrInexpressible is the Err of an Exchange whose request cannot be written in the
// binding, such as a wrong type over gRPC.
var ErrInexpressible = errors.New("the binding cannot carry this request")

// ErrTimeout is the Err of a call that took too long.
var ErrTimeout = errors.New("no end within the time allowed")

// Exchange is one call with all that came back. Result, Fault and Err exclude each
// other; a stream may have Events beside Fault or Err.
type Exchange struct {
	Interface Interface
	Op        Op
	// Sent and Got are the bytes of request and answer, heads included.
	Sent, Got string
	// Status is the HTTP status; 0 over gRPC and if there was no answer.
	Status int
	Header http.Header
	// Body is the answer as it came, or what gRPC carried as JSON. Of a stream it is
	// empty.
	Body []byte
	// Envelope is the decoded Body, Result what the binding wraps into it.
	Envelope, Result any
	// Fault is the error that the server answered with.
	Fault *Fault
	// Events are the frames of a stream.
	Events []Event
	// Ended says that the server ended the stream in order.
	Ended bool
	// Err says why there is no answer that could be read.
	Err error
}

// Streamed reports whether the answer is a stream.
func (x *Exchange) Streamed() bool { return x.Op.Streams() && x.Fault == nil || len(x.Events) > 0 }

// Event is one frame of a stream.
type Event struct {
	// Data is the frame as it came.
	Data []byte
	// Envelope is the decoded frame, Value what the binding wraps into it.
	Envelope, Value any
	// Fault is set if the frame is an error.
	Fault *Fault
}

// Caller calls one interface.
type Caller interface {
	// Call makes a call and reads the answer to its end.
	Call(ctx context.Context, r Request) *Exchange
	// Open makes a call that answers with a stream. It returns when the answer has
	// begun.
	Open(ctx context.Context, r Request) *Stream
	// Close frees what the Caller holds.
	Close() error
}

// New returns a Caller for i.
func New(ctx context.Context, i Interface, o Options) (Caller, error) {
	if i.Binding == GRPC {
		return dialGRPC(ctx, i, o)
	}
	return &httpCaller{iface: i, HTTP: HTTP{Options: o}}, nil
}

// A source yields the frames of a stream.
type source interface {
	// next returns io.EOF at the end that the server made.
	next() (Event, error)
	close()
}

// Stream is an answer that is being read.
type Stream struct {
	// Exchange is what has been read until now.
	Exchange *Exchange
	source   source // nil if there is nothing more to read
	cancel   context.CancelFunc
	ctx      context.Context //nolint:containedctx // the life of the stream
}

// Close ends the stream, if the server has not.
func (s *Stream) Close() {
	s.cancel()
	if s.source != nil {
		s.source.close()
		s.source = nil
	}
}

// Rest reads the stream to its end and closes it.
func (s *Stream) Rest() *Exchange {
	defer s.Close()
	for {
		if _, ok := s.Next(); !ok {
			return s.Exchange
		}
	}
}

// Decode reads one JSON value that takes the whole of data. Numbers keep their
// digits.
func Decode(data []byte) (any, error) {
	var v any
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, &v)
	}
	return v, decodeNumbers(data, &v)
}
