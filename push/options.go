package push

import "time"

// Options configure the delivery of notifications. The zero Options deliver to webhooks on
// public addresses.
type Options struct {
	// Off switches push notifications off: the hub refuses configs, and its cards declare no
	// support.
	Off bool
	// Allow names further targets beside public addresses that webhooks may have: an IP
	// address, a CIDR range, a host name, "host:port", "*.example.internal", "loopback",
	// "private" or "all".
	Allow []string
	// RequireHTTPS refuses webhooks without TLS.
	RequireHTTPS bool
	// SigningSecrets sign each notification by Standard Webhooks, one signature each; "whsec_"
	// and base64. If empty, notifications are not signed.
	SigningSecrets []string
	// KeyFile holds the key that seals tokens and credentials in the store; it is created if it
	// does not exist. If empty, the key ends with the process: after a restart, webhooks with
	// secrets in a durable store, and those of callers with API keys, cannot be notified.
	KeyFile string
	// Timeout limits a try; zero means 15 s.
	Timeout time.Duration
	// MaxAge is the age at which a notification that was tried is dropped; zero means 24 h.
	MaxAge time.Duration
	// Concurrency is the largest number of simultaneous tries; zero means 256.
	Concurrency int
	// PerEndpoint is the largest number of simultaneous tries at one scheme, host and port;
	// zero means 8.
	PerEndpoint int
	// Grace is the time for which running tries may continue when the hub stops. Zero means
	// 3 s.
	Grace time.Duration
}
