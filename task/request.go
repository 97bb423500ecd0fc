package task

import (
	"context"
	"errors"
)

// ErrKeyUsed: an earlier request has the key of a Change.Request. Nothing was stored.
var ErrKeyUsed = errors.New("key of a request was used")

// Request is a request of a caller that must not be executed twice. It is stored
// together with what it changes.
type Request struct {
	// Key names the request among those of its owner to its agent. It is not empty.
	Key string
	// Fingerprint tells requests apart that have the same key.
	Fingerprint []byte
	// At is when the request came.
	At Millis
	// Since is the time from which on earlier requests with the key count. One from
	// before is replaced. It is not stored.
	Since Millis
}

// Requested is a request that was stored.
type Requested struct {
	Request
	// Version is that of the task after the change, Head the task as it is now.
	Version int64
	Head    Head
}

// Requests keeps requests with keys.
type Requests interface {
	// Request returns the request of the owner to the agent that has the key, however
	// old it is, or ErrNotFound.
	Request(ctx context.Context, owner Owner, agent Agent, key string) (Requested, error)
	// SweepRequests deletes up to limit requests that came before before, the oldest
	// first, and returns how many it deleted.
	SweepRequests(ctx context.Context, before Millis, limit int) (int, error)
}
