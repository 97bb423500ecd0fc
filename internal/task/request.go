package task

import (
	"context"
	"errors"
)

// ErrKeyUsed is returned if an earlier request has the key of a Change.Request. Nothing was
// stored.
var ErrKeyUsed = errors.New("key of a request was used")

// Request is a request of a caller that must not be executed twice. It is stored together with
// the change it makes.
type Request struct {
	// Key names the request among those of its owner to its agent. It must not be empty.
	Key string
	// Fingerprint distinguishes requests that have the same key.
	Fingerprint []byte
	// At is the time of the request.
	At Millis
	// Since is the earliest time at which an earlier request with the key still counts. An
	// older one is replaced. Since is not stored.
	Since Millis
}

// Requested is a stored request.
type Requested struct {
	Request
	// Version is the version of the task after the change, Head the current head of the task.
	Version int64
	Head    Head
}

// Requests keeps requests with keys.
type Requests interface {
	// Request returns the request of the owner to the agent that has the key, regardless of its
	// age, or ErrNotFound.
	Request(ctx context.Context, owner Owner, agent Agent, key string) (Requested, error)
	// SweepRequests deletes up to limit requests from before the given time, the oldest first.
	// It returns the number of deleted requests.
	SweepRequests(ctx context.Context, before Millis, limit int) (int, error)
}
