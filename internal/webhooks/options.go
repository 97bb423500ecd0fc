package webhooks

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/push"
)

// withDefaults returns o with the defaults that its comments state.
func withDefaults(o push.Options) push.Options {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.MaxAge = cmp.Or(o.MaxAge, 24*time.Hour)
	o.Concurrency = cmp.Or(o.Concurrency, 256)
	o.PerEndpoint = cmp.Or(o.PerEndpoint, 8)
	o.Grace = cmp.Or(o.Grace, 3*time.Second)
	return o
}

// Store is the part of a task store that a Dispatcher needs. Both stores of Parley implement
// it.
type Store interface {
	task.HookWork
	task.HookAdmin
	// Read is that of task.Log.
	Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error)
}

// Sealer encrypts secrets for the store. It is safe for concurrent use.
type Sealer interface {
	// Seal encrypts plain. Open needs the same context to decrypt it.
	Seal(plain, context []byte) []byte
	// Open returns the plain text of sealed. It fails if Seal was not called with the same
	// context.
	Open(sealed, context []byte) ([]byte, error)
}

// Config configures a Dispatcher.
type Config struct {
	push.Options
	// Store is required.
	Store Store
	// Sealer seals the secrets of webhooks. If nil, a Sealer with the key of KeyFile is
	// created.
	Sealer Sealer
	// Valid reports whether the API key or the certificate that task.HookRequest.Credential names is
	// valid. A webhook that was registered with one gets nothing more when that has ended; while that is
	// not known, it is tried again. Valid must return at once. If nil, webhooks do not depend on
	// credentials.
	Valid func(credential string) (valid, known bool)
	// Attempted is called after each try, on the goroutines of sessions. It must return at once.
	// If nil, tries are not reported.
	Attempted func(Attempt)
	// Transport sends the requests. If nil, a transport is created that dials only the
	// addresses that Allow permits.
	Transport http.RoundTripper
	// Holds reports whether this Dispatcher delivers the webhooks of a task, where Dispatchers of several
	// processes share a Store. It must not block. If nil, this Dispatcher delivers all of them.
	Holds func(task.Key) bool
	// Version is the version of the program, for the User-Agent.
	Version string
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Attempt is a try to deliver a notification.
type Attempt struct {
	Owner   task.Owner
	Task    a2a.TaskID
	Context string
	// Webhook is the id of the push notification config, Version the version of the task.
	Webhook string
	Version int64
	// Delivered is set if the webhook has accepted the notification, Final if no further try
	// follows. Reason is the reason of a failure; it contains no address.
	Delivered, Final bool
	Reason           string
}
