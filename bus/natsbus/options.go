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

// Options say how the server is reached, and what the stream is like if there is none. The
// zero value reaches a server on this machine.
type Options struct {
	// URL is the address of one server, or several with commas between them, such as
	// "nats://127.0.0.1:4222" or "tls://a:4222,tls://b:4222". It may have a user and a
	// password, or a token as the user. Empty means nats://127.0.0.1:4222.
	URL string
	// Name is what operators of the server see. Empty means "parley".
	Name string
	// Token, or User and Password, identify the client. Empty ones are not used.
	Token, User, Password string
	// Credentials is the path of a file with a JWT and the seed of its key (.creds).
	Credentials string
	// TLS, if set, is used for the connection, also where the URL does not ask for it.
	TLS *tls.Config
	// Server, if set, is a server in this process; URL is not used then.
	Server nats.InProcessConnProvider
	// Inbox is the prefix of the subjects at which answers of the server are heard. Empty
	// means "_INBOX".
	Inbox string
	// Agent says that Token is the key of the agent with this name on the broker of a hub.
	// Then Inbox is that of the agent, and User its name, if they are empty; the stream is not
	// looked at, because it is the hub's; and the bus is closed when the key is refused.
	Agent string
	// Rooms says that each agent has an account with the name Room on the server, which
	// writes into messages of topics from which one they came. It must not be believed of
	// any other server than the one of package embedded.
	Rooms bool
	// Stream is the name of the stream. Empty means DefaultStream.
	Stream string
	// Memory makes a new stream keep everything in memory.
	Memory bool
	// Replicas is how many servers a new stream is kept on. Zero means one.
	Replicas int
	// MaxBytes is how much a new stream holds. Zero means no limit but the server's.
	MaxBytes int64
	// Timeout is how long one call waits for the server at most, also for one that is
	// away, unless its context ends before. Zero means DefaultTimeout.
	Timeout time.Duration
	// Logger is told when the connection is lost and mended, and what goes to Dead or is
	// lost by a slow reader. If nil, nobody is.
	Logger *slog.Logger
}

// withDefaults returns o with everything set that has a default.
func (o Options) withDefaults() Options {
	setDefault(&o.URL, nats.DefaultURL)
	setDefault(&o.Name, "parley")
	setDefault(&o.Stream, DefaultStream)
	setDefault(&o.Replicas, 1)
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
		nats.ReconnectBufSize(-1), // what is sent while it is away is ours to keep
		nats.ConnectHandler(b.connected), nats.ReconnectHandler(b.connected),
		nats.DisconnectErrHandler(b.disconnected), nats.ClosedHandler(b.closed), nats.ErrorHandler(b.asyncError),
	}
	if o.Agent == "" {
		list = append(list, nats.IgnoreAuthErrorAbort()) // an account may be made later
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

// pause is how long the client waits after it has tried all servers n times.
func pause(n int) time.Duration {
	d := min(20*time.Millisecond<<min(n, 10), 2*time.Second)
	return d + rand.N(d/4)
}

// check returns what is wrong with o.
func (o *Options) check() error {
	if o.Replicas < 0 || o.MaxBytes < 0 || o.Timeout < 0 {
		return fmt.Errorf("options: Replicas %d, MaxBytes %d, Timeout %v: must not be negative", o.Replicas, o.MaxBytes, o.Timeout)
	}
	return nil
}
