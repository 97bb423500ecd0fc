package peer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// Defaults of [Options].
const (
	DefaultTimeout     = 30 * time.Second
	DefaultDeadline    = 300 * time.Second
	DefaultMaxBody     = 64 << 20
	DefaultMaxEvent    = 10 << 20
	DefaultIdle        = 5 * time.Minute
	DefaultRetries     = 3
	DefaultBreakAfter  = 3
	DefaultProbeEvery  = 10 * time.Second
	DefaultPollInitial = 2 * time.Second
	DefaultPollMax     = 30 * time.Second
)

// cancelTimeout bounds how long an aborted call waits for the remote task's cancel.
const cancelTimeout = 5 * time.Second

// Poll configures how often an agent that does not stream is polled.
type Poll struct {
	// Initial and Max are the first and the longest pause; pauses double. Zero means
	// DefaultPollInitial and DefaultPollMax.
	Initial, Max time.Duration
	// Interval, if set, is a constant pause.
	Interval time.Duration
	// HistoryLength is the number of history messages requested with a task. If nil, the agent
	// decides.
	HistoryLength *int
}

// Options configure the calls to a peer. The zero Options call with retries, a breaker and a
// deadline, by the interfaces of the card, without credentials.
type Options struct {
	// Name is the peer's name in errors and logs. If empty, it is the card's.
	Name string
	// URL is the configured address of the peer. New pins calls to it; credentials are sent to
	// its host alone. If empty, the addresses of the card are used.
	URL string
	// FollowCard calls the addresses that the card names although URL is set. Credentials are
	// still sent to the host of URL alone.
	FollowCard bool
	// Dialect forces the dialect of JSON-RPC: "v1.0", "v0.3", or one that a part adds. If
	// empty, it follows from the card and from the peer's answers.
	Dialect string
	// HTTP sends the requests. Its Timeout also ends streams, so it should be zero; its
	// CheckRedirect is replaced. If nil, a client with a connect timeout of ten seconds and no
	// other is used.
	HTTP *http.Client
	// Credentials are sent to the peer.
	Credentials transport.Credentials
	// Identity adds headers that identify the original caller; nil adds none. They are sent
	// where credentials may be sent, but not with the request of the card, and only over TLS or
	// to this machine.
	Identity transport.Identity
	// Header is added to every request, over gRPC as metadata.
	Header http.Header
	// Bindings are the preferred bindings, best first. Others of the card follow in the card's
	// order. A binding that is neither built in nor among Transports is ErrNoTransport.
	Bindings []a2a.TransportProtocol
	// Jobs also uses POST /tasks/send of a card that has other bindings, where those
	// do not exist.
	Jobs bool
	// Transports adds bindings, such as gRPC.
	Transports map[a2a.TransportProtocol]transport.Factory
	// Timeout bounds the calls that an agent answers at once: the card, Get, List, Cancel and
	// push configs. Zero means DefaultTimeout, negative means no limit.
	Timeout time.Duration
	// Deadline bounds Send, Run and Follow. Zero means DefaultDeadline, negative means no
	// limit.
	Deadline time.Duration
	// Idle ends a stream after a silence without even a comment; Run and Follow resume it. Zero
	// means DefaultIdle, negative means no limit.
	Idle time.Duration
	// MaxBody bounds an answer and MaxEvent an event of a stream, in bytes. Zero means
	// DefaultMaxBody and DefaultMaxEvent.
	MaxBody, MaxEvent int64
	// Target is the tenant whose card is fetched, if the server has cards of tenants.
	Target string
	// MaxCard bounds the card that Dial fetches, in bytes. Zero means
	// card.DefaultMaxBytes.
	MaxCard int64
	// Retries is how often a call is repeated that was certainly not accepted, or is
	// idempotent. Zero means DefaultRetries, negative means none.
	Retries int
	// BreakAfter is the number of consecutive failed calls after which further ones are held
	// back with ErrOpen. Zero means DefaultBreakAfter, negative means never.
	BreakAfter int
	// ProbeEvery is how often one call is allowed while others are held back. Zero means
	// DefaultProbeEvery.
	ProbeEvery time.Duration
	// Poll configures how Run and Follow poll an agent that does not stream.
	Poll Poll
	// Detach does not cancel remote tasks when Run or Follow is aborted. Otherwise the task is
	// canceled, unless the cause of the abort is ErrDetached.
	Detach bool
	// Idempotent sends the message's id as Idempotency-Key, so that a hub which supports it
	// accepts no message twice. Sends are then retried like any other call.
	Idempotent bool
	// Logger receives records for the operator. If nil, nothing is logged.
	Logger *slog.Logger
}

// check returns an error for options that cannot be honored.
func (o *Options) check() error {
	for _, b := range o.Bindings {
		if !o.speaks(b) {
			return fmt.Errorf("prefer %q: %w", b, ErrNoTransport)
		}
	}
	if o.Dialect != "" {
		if !slices.Contains(dialect.Names(), o.Dialect) {
			return fmt.Errorf("unknown dialect %q of JSON-RPC: %w", o.Dialect, ErrNoTransport)
		}
	}
	return o.Credentials.Check()
}

func (o *Options) speaks(b a2a.TransportProtocol) bool {
	switch b {
	case a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON:
		return true
	}
	_, ok := o.Transports[b]
	return ok
}

// rank is the place of b among the preferred bindings.
func (o *Options) rank(b a2a.TransportProtocol) int {
	if i := slices.Index(o.Bindings, b); i >= 0 {
		return i
	}
	return len(o.Bindings)
}

// limit returns d, the default if d is zero, and zero, meaning no limit, if d is negative.
func limit(d, otherwise time.Duration) time.Duration { return max(0, cmp.Or(d, otherwise)) }

func (o *Options) breaker() *breaker {
	return &breaker{after: cmp.Or(o.BreakAfter, DefaultBreakAfter), every: limit(o.ProbeEvery, DefaultProbeEvery)}
}

func (o *Options) log() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// bound limits ctx by d; zero means no limit.
func bound(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded))
}
