package bus

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/task"
)

// Version is the version of the wire contract that this package implements: docs/wire.md. A program
// of another version is refused.
const Version = 2

// MaxEnvelope is the size of the largest envelope in bytes, encoded. It fits into the default
// limit of a NATS server (1 MiB), with room for headers.
const MaxEnvelope = 960 << 10

// Type is the type of an envelope's body. Types are words joined by dots.
type Type string

// Envelope is a message on the bus: a JSON object whose members have the names below. Unknown
// members are ignored. Its schema is in docs/wire.md.
type Envelope struct {
	// Version is that of the contract; an envelope with another one goes to Dead. Encode sets
	// it.
	Version int `json:"v"`
	// ID identifies the envelope: a bus may drop one that has the id of an earlier one.
	ID string `json:"id"`
	// Type is the type of Body.
	Type Type `json:"type"`
	// Time is when it was created, in milliseconds since 1970. It is informational: no process
	// depends on the clock of another one.
	Time task.Millis `json:"time"`
	// Source and Destination name the processes: "hub/ID", "worker/ID", "agent/NAME". A
	// receiver refuses an envelope for another destination than its own.
	Source      string `json:"source"`
	Destination string `json:"destination,omitempty"`
	// ReplyTo is the name of the topic at which the sender receives answers.
	ReplyTo string `json:"replyTo,omitempty"`
	// Correlation is the caller's id for a piece of work, through all hops.
	Correlation string `json:"correlation,omitempty"`
	// Task is the id of the task concerned, Owner the scope of that id.
	Task  string     `json:"task,omitempty"`
	Owner task.Owner `json:"owner,omitempty"`
	// Epoch identifies the assignment of the task to a worker, Seq the number of the first
	// event within it.
	Epoch int64 `json:"epoch,omitempty"`
	Seq   int64 `json:"seq,omitempty"`
	// Deadline is when the work becomes useless; zero means never.
	Deadline task.Millis `json:"deadline,omitempty"`
	// Chain lists the agents through which the work came, the first one first.
	Chain []string `json:"chain,omitempty"`
	// Principal is the caller for which the work is done, as authenticated by the hub.
	Principal *auth.Principal `json:"principal,omitempty"`
	// Label is the origin of the content, such as "caller" or "agent/NAME", so that a worker
	// can state it to a model.
	Label string `json:"label,omitempty"`
	// Trace carries traceparent and tracestate (W3C Trace Context).
	Trace map[string]string `json:"trace,omitempty"`
	// ContentType is that of the body; empty means application/json.
	ContentType string `json:"contentType,omitempty"`
	// Reason is the reason why the envelope is at Dead, Queue the name of its former queue.
	Reason string `json:"reason,omitempty"`
	Queue  string `json:"queue,omitempty"`
	// Signature is the hub's signature of all other members but Reason and Queue: see Signer.
	Signature *Signature `json:"signature,omitempty"`
	// Body is JSON; its members depend on Type.
	Body json.RawMessage `json:"body,omitempty"`
}

// Signature is the signature of an envelope.
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

// encode returns the JSON of e without checks.
func (e *Envelope) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // escaping would enlarge the bodies
	err := enc.Encode(e)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// checkSize returns ErrTooLarge if n bytes are more than e may have.
func (e *Envelope) checkSize(n int) error {
	limit := MaxEnvelope
	if e.Reason != "" {
		limit += reservedForDead
	}
	if n > limit {
		return fmt.Errorf("envelope %q of %d bytes exceeds the limit of %d: %w", e.ID, n, limit, ErrTooLarge)
	}
	return nil
}

// Decode returns the envelope in b. The error is ErrInvalid or ErrTooLarge; the envelope then
// holds the members that could be read, for messages. The envelope is never nil.
func Decode(b []byte) (*Envelope, error) {
	if len(b) > MaxEnvelope+reservedForDead {
		return new(Envelope), fmt.Errorf("envelope of %d bytes exceeds the limit of %d: %w", len(b), MaxEnvelope, ErrTooLarge)
	}
	e, err := decode(b)
	if err != nil {
		return e, fmt.Errorf("decode envelope: %w: %w", err, ErrInvalid)
	}
	switch {
	case e.Version != Version:
		return e, fmt.Errorf("envelope %q from %q: version %d of the wire contract, version %d is required: %w", e.ID, e.Source, e.Version, Version, ErrInvalid)
	case e.ID == "" || e.Type == "" || e.Source == "":
		return e, fmt.Errorf("envelope %q of type %q from %q: id, type and source are required: %w", e.ID, e.Type, e.Source, ErrInvalid)
	}
	return e, e.checkSize(len(b))
}

func decode(b []byte) (*Envelope, error) {
	e := new(Envelope)
	err := rawjson.Readable(rawjson.Unmarshal(b, e))
	return e, err
}
