package natsbus

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
)

// DefaultTimeout is the Timeout of Options without one.
const DefaultTimeout = 10 * time.Second

// DefaultStream is the Stream of Options without one.
const DefaultStream = "PARLEY"

// Options configure the connection to the server, and the stream if it must be created. The
// zero value connects to a server on this machine.
type Options struct {
	// URL is the address of one server, or several with commas between them, such as
	// "nats://127.0.0.1:4222" or "tls://a:4222,tls://b:4222". It may have a user and a
	// password, or a token as the user. Empty means nats://127.0.0.1:4222.
	URL string
	// Name is the name of the client for operators of the server. Empty means "parley".
	Name string
	// Token, or User and Password, identify the client. Empty ones are not used.
	Token, User, Password string
	// Credentials is the path of a file with a JWT and the seed of its key (.creds).
	Credentials string
	// TLS, if set, is used for the connection, even if the scheme of the URL does not require
	// it.
	TLS *tls.Config
	// Server, if set, is a server in this process; URL is then ignored.
	Server nats.InProcessConnProvider
	// Inbox is the prefix of the subjects for responses of the server. Empty means "_INBOX".
	Inbox string
	// Agent is set if Token is the key of the agent with this name on the broker of a hub.
	// Inbox and User then default to those of the agent. The bus does not look up the stream,
	// which belongs to the hub, and it is closed when the key is refused.
	Agent string
	// Accounts is set if each agent has an account with the name AccountName on the server. The
	// server then writes the sender's account into messages of topics. Set it only for the
	// server of package embedded: other servers do not prevent forged values.
	Accounts bool
	// Stream is the name of the stream. Empty means DefaultStream.
	Stream string
	// Memory makes a new stream keep everything in memory.
	Memory bool
	// Replicas is the number of servers that store a new stream. Zero means three if as many servers of a
	// cluster are up, and one otherwise.
	Replicas int
	// MaxBytes is the size limit of a new stream. Zero means no limit but the server's.
	MaxBytes int64
	// Timeout is the longest time for which one call waits for the server, including
	// reconnection, unless its context ends before. Zero means DefaultTimeout.
	Timeout time.Duration
	// Logger gets records about lost connections, reconnections, envelopes that go to Dead, and
	// envelopes that a slow receiver loses. If nil, nothing is logged.
	Logger *slog.Logger
}

// withDefaults returns o with all defaults set.
func (o Options) withDefaults() Options {
	setDefault(&o.URL, nats.DefaultURL)
	setDefault(&o.Name, "parley")
	setDefault(&o.Stream, DefaultStream)
	if o.Agent != "" {
		setDefault(&o.Inbox, Inbox(o.Agent))
		setDefault(&o.User, o.Agent)
	}
	setDefault(&o.Timeout, DefaultTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// connection returns the options of the client.
func (b *Bus) connection() []nats.Option {
	o := &b.options
	list := []nats.Option{
		nats.Name(o.Name), nats.Timeout(o.Timeout), nats.PingInterval(15 * time.Second),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.CustomReconnectDelay(pause),
		nats.ReconnectBufSize(-1), // unsent messages are kept by this package, not by the client
		nats.ConnectHandler(b.connected), nats.ReconnectHandler(b.connected),
		nats.DisconnectErrHandler(b.disconnected), nats.ClosedHandler(b.closed), nats.ErrorHandler(b.asyncError),
	}
	if o.Agent == "" {
		list = append(list, nats.IgnoreAuthErrorAbort()) // an account may be created later
	}
	if o.Token != "" {
		list = append(list, nats.Token(o.Token))
	}
	if o.User != "" {
		list = append(list, nats.UserInfo(o.User, o.Password))
	}
	if o.Credentials != "" {
		list = append(list, nats.UserCredentials(o.Credentials))
	}
	if o.TLS != nil {
		list = append(list, nats.Secure(o.TLS))
	}
	if o.Inbox != "" {
		list = append(list, nats.CustomInboxPrefix(o.Inbox))
	}
	if o.Server != nil {
		list = append(list, nats.InProcessServer(o.Server))
	}
	return list
}

// pause returns the wait after the client has tried all servers n times.
func pause(n int) time.Duration {
	d := min(20*time.Millisecond<<min(n, 10), 2*time.Second)
	return d + rand.N(d/4)
}

// check returns an error if o is invalid.
func (o *Options) check() error {
	if o.Replicas < 0 || o.MaxBytes < 0 || o.Timeout < 0 {
		return fmt.Errorf("options: Replicas %d, MaxBytes %d, Timeout %v: must not be negative", o.Replicas, o.MaxBytes, o.Timeout)
	}
	return nil
}
