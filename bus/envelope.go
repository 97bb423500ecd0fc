package bus

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/json/structjson"
	"github.com/parley-a2a/parley/task"
)

// Version is the version of the wire contract that this package speaks: docs/wire.md.
const Version = 1

// MaxEnvelope is the size of the largest envelope in bytes, encoded. It fits into what a
// NATS server takes unless it was told otherwise (1 MiB), with room for headers.
const MaxEnvelope = 960 << 10

// Type says what the body of an envelope is. Types are words joined by dots.
type Type string

// Envelope is what travels on the bus: JSON, an object whose members have the names
// below. Unknown members are ignored. Its schema is in docs/wire.md.
type Envelope struct {
	// Version is that of the contract; an envelope with another one is dead. Encode sets
	// it.
	Version int `json:"v"`
	// ID identifies the envelope: a bus may drop one that has the id of an earlier one.
	ID string `json:"id"`
	// Type says what Body is.
	Type Type `json:"type"`
	// Time is when it was made, in milliseconds since 1970. It is for people: nothing
	// depends on the clocks of others.
	Time task.Millis `json:"time"`
	// Source and Destination name the processes: "hub/ID", "worker/ID", "agent/NAME". An
	// envelope for another destination than the receiver's is refused.
	Source      string `json:"source"`
	Destination string `json:"destination,omitempty"`
	// ReplyTo is the name of the topic at which the sender hears answers.
	ReplyTo string `json:"replyTo,omitempty"`
	// Correlation is the caller's id for a piece of work, through all hops.
	Correlation string `json:"correlation,omitempty"`
	// Task is the id of the task that it is about, Owner the scope of that id.
	Task  string     `json:"task,omitempty"`
	Owner task.Owner `json:"owner,omitempty"`
	// Epoch is the delivery of the task to a worker that it belongs to, Seq the number of
	// its first event in that.
	Epoch int64 `json:"epoch,omitempty"`
	Seq   int64 `json:"seq,omitempty"`
	// Deadline is when the work is of no more use; zero means never.
	Deadline task.Millis `json:"deadline,omitempty"`
	// Chain are the agents through which the work came, the first one first.
	Chain []string `json:"chain,omitempty"`
	// Principal is whose work it is, as the hub has authenticated it.
	Principal *auth.Principal `json:"principal,omitempty"`
	// Label says where the content comes from, such as "caller" or "agent/NAME", so that a
	// model can be told before it reads it.
	Label string `json:"label,omitempty"`
	// Trace carries traceparent and tracestate (W3C Trace Context).
	Trace map[string]string `json:"trace,omitempty"`
	// ContentType is that of the body; empty means application/json.
	ContentType string `json:"contentType,omitempty"`
	// Reason says why the envelope is dead, Queue is the name of the queue that has given
	// it up.
	Reason string `json:"reason,omitempty"`
	Queue  string `json:"queue,omitempty"`
	// Signature is the hub's over all other members but Reason and Queue: see Signer.
	Signature *Signature `json:"signature,omitempty"`
	// Body is JSON; what is in it depends on Type.
	Body json.RawMessage `json:"body,omitempty"`
}

// Signature says who vouches for an envelope.
type Signature struct {
	// Key names the key of the signer.
	Key string `json:"key"`
	// Value is an Ed25519 signature (RFC 8032).
	Value []byte `json:"value"`
}

// Encode returns e as JSON. The error is ErrTooLarge or ErrInvalid.
func (e *Envelope) Encode() ([]byte, error) {
	if e.ID == "" || e.Type == "" || e.Source == "" {
		return nil, fmt.Errorf("envelope %q of type %q from %q: id, type and source are required: %w", e.ID, e.Type, e.Source, ErrInvalid)
	}
	out := *e
	out.Version = Version
	b, err := out.encode()
	if err != nil {
		return nil, fmt.Errorf("encode envelope %q: %w: %w", e.ID, err, ErrInvalid)
	}
	if err := e.checkSize(len(b)); err != nil {
		return nil, err
	}
	return b, nil
}

// encode returns the JSON of e as it is.
func (e *Envelope) encode() ([]byte, error) {
	if b, ok := envelopes.Append(make([]byte, 0, len(e.Body)+roomAround), e); ok {
		return b, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // it would make bodies of others larger than they were
	err := enc.Encode(e)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// checkSize returns ErrTooLarge if e must not have n bytes.
func (e *Envelope) checkSize(n int) error {
	limit := MaxEnvelope
	if e.Reason != "" {
		limit += deadSpace
	}
	if n > limit {
		return fmt.Errorf("envelope %q of %d bytes, %d are allowed: %w", e.ID, n, limit, ErrTooLarge)
	}
	return nil
}

// Decode returns the envelope that b holds. The error is ErrInvalid or ErrTooLarge, and
// the envelope then has what could be read of it, for people; it is never nil. Its Body may be
// a part of b, which must not change any more.
func Decode(b []byte) (*Envelope, error) {
	if len(b) > MaxEnvelope+deadSpace {
		return new(Envelope), fmt.Errorf("envelope of %d bytes, %d are allowed: %w", len(b), MaxEnvelope, ErrTooLarge)
	}
	e, err := decode(b)
	if err != nil {
		return e, fmt.Errorf("decode envelope: %w: %w", err, ErrInvalid)
	}
	switch {
	case e.Version != Version:
		return e, fmt.Errorf("envelope %q: version %d, %d is spoken here: %w", e.ID, e.Version, Version, ErrInvalid)
	case e.ID == "" || e.Type == "" || e.Source == "":
		return e, fmt.Errorf("envelope %q of type %q from %q: id, type and source are required: %w", e.ID, e.Type, e.Source, ErrInvalid)
	}
	return e, e.checkSize(len(b))
}

func decode(b []byte) (*Envelope, error) {
	e := new(Envelope)
	if rawjson.Check(b, structjson.MaxDepth) == nil && envelopes.Read(b, e) {
		return e, nil
	}
	*e = Envelope{}
	err := json.Unmarshal(b, e)
	return e, err
}
