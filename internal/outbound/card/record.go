package card

import (
	"bytes"
	"time"

	"github.com/parley-a2a/parley/task"
)

// Record is the stored data of one agent of a directory.
type Record struct {
	// Name is the agent's name in the hub. It is required.
	Name task.Agent
	// Spec is the registration, as JSON without secrets; nil for a configured agent, of which
	// only the card is stored.
	Spec []byte
	// Secret holds the agent's sealed credentials; nil if there are none.
	Secret []byte
	// Card is the last known card as received; nil if there is none. CardURL is the configured
	// URL of the card. ETag is its tag, or empty.
	Card    []byte
	CardURL string
	ETag    string
	// SeenAt is the time of the agent's last answer. CreatedAt and UpdatedAt are the times of
	// the registration and of its last change. They have a precision of milliseconds; zero
	// means never.
	SeenAt, CreatedAt, UpdatedAt time.Time
}

// Clone returns a copy that shares nothing with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Spec, c.Secret, c.Card = bytes.Clone(r.Spec), bytes.Clone(r.Secret), bytes.Clone(r.Card)
	return &c
}
