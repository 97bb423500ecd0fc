package push

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Options say how webhooks are told. The zero Options tell webhooks on public
// addresses.
type Options struct {
	// Off switches push notifications off: configs are refused, and cards say so.
	Off bool
	// Allow names targets beside public addresses that webhooks may have: an IP
	// address, a CIDR range, a host name, "host:port", "*.example.internal",
	// "loopback", "private" or "all".
	Allow []string
	// RequireHTTPS refuses webhooks without TLS.
	RequireHTTPS bool
	// SigningSecrets sign each notification by Standard Webhooks, one signature
	// each; "whsec_" and base64. If empty, nothing is signed.
	SigningSecrets []string
	// KeyFile holds the key that seals tokens and credentials in the store; it is
	// made if it is not there. If empty, the key ends with the process: webhooks with
	// secrets that a durable store keeps cannot be told after a restart.
	KeyFile string
	// Timeout ends a try; 15 s.
	Timeout time.Duration
	// MaxAge gives up a notification that is older and was tried; 24 h.
	MaxAge time.Duration
	// Concurrency is the number of tries under way at one time; 256.
	Concurrency int
	// PerEndpoint is the number of tries under way at one scheme, host and port; 8.
	PerEndpoint int
	// Grace is how long tries may go on when the hub stops; 3 s.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.MaxAge = cmp.Or(o.MaxAge, 24*time.Hour)
	o.Concurrency = cmp.Or(o.Concurrency, 256)
	o.PerEndpoint = cmp.Or(o.PerEndpoint, 8)
	o.Grace = cmp.Or(o.Grace, 3*time.Second)
	return o
}

// Store is what a Dispatcher asks of a store of tasks. Both stores of Parley are one.
type Store interface {
	task.HookWork
	task.HookDesk
	// Read is that of task.Log.
	Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error)
}

// Sealer encrypts secrets for the store. It is safe for concurrent use.
type Sealer interface {
	// Seal encrypts plain, so that Open needs the same context.
	Seal(plain, context []byte) []byte
	// Open returns the plain text of sealed, or an error if it is not of Seal with the same
	// context.
	Open(sealed, context []byte) ([]byte, error)
}

// Config is what a Dispatcher is made of.
type Config struct {
	Options
	// Store is required.
	Store Store
	// Sealer seals the secrets of webhooks. If nil, one is made of KeyFile.
	Sealer Sealer
	// Transport makes the requests. If nil, one is made that dials the addresses
	// that Allow permits.
	Transport http.RoundTripper
	// Version is that of the program, for the User-Agent.
	Version string
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}
