package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/task"
)

// The limits of a Batch.
const (
	// MaxBatch is the largest number of envelopes.
	MaxBatch = 64
	// MaxBatched is the size of the largest body in bytes; an envelope with a larger one is
	// sent alone.
	MaxBatched = 4 << 10
)

// Batch combines several envelopes to one topic, so that they cost one signature and one
// message. Each counts as if it had come alone. It may be sent only to receivers that have
// announced support: Work.Batches, Claim.Batches.
type Batch struct {
	// Envelopes are up to MaxBatch.
	Envelopes []Batched `json:"envelopes"`
}

// Batched holds the members of an envelope in a Batch that are its own; it shares the others
// with the batch.
type Batched struct {
	Type        bus.Type          `json:"type"`
	Correlation string            `json:"correlation,omitempty"`
	Task        string            `json:"task,omitempty"`
	Owner       task.Owner        `json:"owner,omitempty"`
	Epoch       int64             `json:"epoch,omitempty"`
	Seq         int64             `json:"seq,omitempty"`
	Deadline    task.Millis       `json:"deadline,omitempty"`
	Chain       []string          `json:"chain,omitempty"`
	Principal   *auth.Principal   `json:"principal,omitempty"`
	Label       string            `json:"label,omitempty"`
	Trace       map[string]string `json:"trace,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
}

// Join returns one envelope for all, which must have the same source, destination and ReplyTo.
// A single envelope is returned unchanged.
func Join(all []*bus.Envelope) (*bus.Envelope, error) {
	first := all[0]
	if len(all) == 1 {
		return first, nil
	}
	batch := Batch{make([]Batched, len(all))}
	for i, e := range all {
		batch.Envelopes[i] = Batched{
			Type: e.Type, Correlation: e.Correlation, Task: e.Task, Owner: e.Owner, Epoch: e.Epoch, Seq: e.Seq,
			Deadline: e.Deadline, Chain: e.Chain, Principal: e.Principal, Label: e.Label, Trace: e.Trace, Body: e.Body,
		}
	}
	body, err := Encode(&batch)
	return &bus.Envelope{
		ID: first.ID, Type: TypeBatch, Time: first.Time, Source: first.Source,
		Destination: first.Destination, ReplyTo: first.ReplyTo, Body: body,
	}, err
}

// Split returns the envelopes of a batch, or e alone if it is none. The caller must have
// verified the signature of e before. The error is bus.ErrInvalid. It does not concern the envelopes that are
// returned with it.
func Split(e *bus.Envelope) ([]*bus.Envelope, error) {
	if e.Type != TypeBatch {
		return []*bus.Envelope{e}, nil
	}
	var batch struct {
		Envelopes []json.RawMessage `json:"envelopes"`
	}
	if err := Decode(e.Body, &batch); err != nil {
		return nil, fmt.Errorf("decode batch %q: %w: %w", e.ID, err, bus.ErrInvalid)
	}
	if n := len(batch.Envelopes); n > MaxBatch {
		return nil, fmt.Errorf("batch %q of %d envelopes, %d are allowed: %w", e.ID, n, MaxBatch, bus.ErrInvalid)
	}
	all := make([]*bus.Envelope, 0, len(batch.Envelopes))
	var bad []error
	for i, text := range batch.Envelopes {
		var b Batched
		if err := Decode(text, &b); err != nil {
			bad = append(bad, fmt.Errorf("batch %q: envelope %d: %w: %w", e.ID, i, err, bus.ErrInvalid))
			continue
		}
		if b.Type == "" || b.Type == TypeBatch {
			bad = append(bad, fmt.Errorf("batch %q: envelope %d has type %.100q: %w", e.ID, i, b.Type, bus.ErrInvalid))
			continue
		}
		one := *e
		one.Signature = nil
		one.Type, one.Correlation, one.Task, one.Owner = b.Type, b.Correlation, b.Task, b.Owner
		one.Epoch, one.Seq, one.Trace, one.Body = b.Epoch, b.Seq, b.Trace, b.Body
		one.Deadline, one.Chain, one.Principal, one.Label = b.Deadline, b.Chain, b.Principal, b.Label
		all = append(all, &one)
	}
	return all, errors.Join(bad...)
}
