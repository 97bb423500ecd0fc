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

// Binding is a protocol binding, by its name on the command line.
type Binding string

// The bindings.
const (
	JSONRPC Binding = "jsonrpc"
	REST    Binding = "rest"
	GRPC    Binding = "grpc"
)

// Interface is an interface in an agent's card.
type Interface struct {
	Binding Binding
	Version string // "1.0" or "0.3"
	URL     string
	Tenant  string
}

// String returns the binding with its version, such as "jsonrpc 1.0".
func (i Interface) String() string { return string(i.Binding) + " " + i.Version }

// NoVersion is the Request.Version that omits the header.
const NoVersion = "-"

// Request is one call.
type Request struct {
	Op     Op
	Params map[string]any
	// Version is the A2A-Version to send. If empty, the interface's version is sent.
	Version string
	// Key replaces the credential if not nil; an empty one sends none.
	Key *string
	// ID is the id of the JSON-RPC request; nil means a string chosen by the Caller.
	ID any
	// Timeout replaces Options.Timeout if not zero.
	Timeout time.Duration
}

// Conn is a connection for gRPC calls.
type Conn interface {
	grpc.ClientConnInterface
	Close() error
}

// Options configure calls.
type Options struct {
	// HTTP sends the requests. The default is http.DefaultTransport.
	HTTP http.RoundTripper
	// Dial connects to a gRPC interface. If nil, gRPC is not available.
	Dial func(ctx context.Context, url string) (Conn, error)
	// Key is the credential: a bearer token, also sent as an API key in each of KeyHeaders. If
	// empty, none is sent.
	Key        string
	KeyHeaders []string
	// Timeout bounds each call, including streams. The default is 10 s.
	Timeout time.Duration
	// UserAgent is the User-Agent of requests.
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

// ErrInexpressible is the Err of an Exchange whose request the binding cannot express, such as
// a wrong type over gRPC.
var ErrInexpressible = errors.New("the binding cannot carry this request")

// ErrTimeout is the Err of a call that timed out.
var ErrTimeout = errors.New("no end within the time allowed")

// Exchange is one call with its complete answer. Result, Fault and Err exclude each other; a
// stream may have Events besides Fault or Err.
type Exchange struct {
	Interface Interface
	Op        Op
	// Sent and Got are the bytes of request and answer, including headers.
	Sent, Got string
	// Status is the HTTP status; 0 over gRPC and if there was no answer.
	Status int
	Header http.Header
	// Body is the unmodified answer, or the gRPC message as JSON. It is empty for a stream.
	Body []byte
	// Envelope is the decoded Body; Result is the value inside the binding's envelope.
	Envelope, Result any
	// Fault is the error that the server returned.
	Fault *Fault
	// Events are the frames of a stream.
	Events []Event
	// Ended is set if the server ended the stream normally.
	Ended bool
	// Err is the reason why there is no readable answer.
	Err error
}

// Streamed reports whether the answer is a stream.
func (x *Exchange) Streamed() bool { return x.Op.Streams() && x.Fault == nil || len(x.Events) > 0 }

// Event is one frame of a stream.
type Event struct {
	// Data is the unmodified frame.
	Data []byte
	// Envelope is the decoded frame; Value is the value inside the binding's envelope.
	Envelope, Value any
	// Fault is set if the frame is an error.
	Fault *Fault
}

// Caller calls one interface.
type Caller interface {
	// Call sends a request and reads the complete answer.
	Call(ctx context.Context, r Request) *Exchange
	// Open sends a request that is answered with a stream. It returns when the answer begins.
	Open(ctx context.Context, r Request) *Stream
	// Close releases the resources of the Caller.
	Close() error
}

// New returns a Caller for i.
func New(ctx context.Context, i Interface, o Options) (Caller, error) {
	if i.Binding == GRPC {
		return dialGRPC(ctx, i, o)
	}
	return &httpCaller{iface: i, HTTP: HTTP{Options: o}}, nil
}

// source yields the frames of a stream.
type source interface {
	// next returns io.EOF if the server ended the stream.
	next() (Event, error)
	close()
}

// Stream is an answer that is being read.
type Stream struct {
	// Exchange holds the part of the answer read so far.
	Exchange *Exchange
	source   source // nil after the end
	cancel   context.CancelFunc
	ctx      context.Context //nolint:containedctx // the life of the stream
}

// Close aborts the stream if the server has not ended it.
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

// Decode reads exactly one JSON value from data. Numbers keep their digits.
func Decode(data []byte) (any, error) {
	var v any
	if !json.Valid(data) {
		return nil, json.Unmarshal(data, &v)
	}
	return v, decodeNumbers(data, &v)
}
