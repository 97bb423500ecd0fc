package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/task"
)

// What a Batch may have.
const (
	// MaxBatch is how many envelopes.
	MaxBatch = 64
	// MaxBatched is how many bytes the body of each has at most; a larger one goes alone.
	MaxBatched = 4 << 10
)

// Batch says at one topic several things that were said there at one time, so that they cost
// one signature and one message. Each counts as if it had come alone. Who gets one has said
// that it may come: Work.Batches, Claim.Batches.
type Batch struct {
	// Envelopes are up to MaxBatch.
	Envelopes []Batched `json:"envelopes"`
}

// Batched is what an envelope of a Batch has for itself; the rest is that of the batch.
type Batched struct {
	Type        bus.Type          `json:"type"`
	Correlation string            `json:"correlation,omitempty"`
	Task        string            `json:"task,omitempty"`
	Owner       task.Owner        `json:"owner,omitempty"`
	Epoch       int64             `json:"epoch,omitempty"`
	Seq         int64             `json:"seq,omitempty"`
	Trace       map[string]string `json:"trace,omitempty"`
	Body        json.RawMessage   `json:"body,omitempty"`
}

// Join returns one envelope for all, which have the same source, destination and way back.
// A single one stays as it is.
func Join(all []*bus.Envelope) (*bus.Envelope, error) {
	first := all[0]
	if len(all) == 1 {
		return first, nil
	}
	batch := Batch{make([]Batched, len(all))}
	for i, e := range all {
		batch.Envelopes[i] = Batched{e.Type, e.Correlation, e.Task, e.Owner, e.Epoch, e.Seq, e.Trace, e.Body}
	}
	body, err := Encode(&batch)
	return &bus.Envelope{
		ID: first.ID, Type: TypeBatch, Time: first.Time, Source: first.Source,
		Destination: first.Destination, ReplyTo: first.ReplyTo, Body: body,
	}, err
}

// Split returns the envelopes that were joined: e alone if it is no batch. Whether e is signed
// must be clear before. The error is bus.ErrInvalid.
func Split(e *bus.Envelope) ([]*bus.Envelope, error) {
	if e.Type != TypeBatch {
		return []*bus.Envelope{e}, nil
	}
	var batch Batch
	if err := Decode(e.Body, &batch); err != nil {
		return nil, fmt.Errorf("decode batch %q: %w: %w", e.ID, err, bus.ErrInvalid)
	}
	if n := len(batch.Envelopes); n > MaxBatch {
		return nil, fmt.Errorf("batch %q of %d envelopes, %d are allowed: %w", e.ID, n, MaxBatch, bus.ErrInvalid)
	}
	all := make([]*bus.Envelope, len(batch.Envelopes))
	for i, b := range batch.Envelopes {
		if b.Type == "" || b.Type == TypeBatch {
			return nil, fmt.Errorf("batch %q: envelope %d has type %q: %w", e.ID, i, b.Type, bus.ErrInvalid)
		}
		one := *e
		one.Signature = nil
		one.Type, one.Correlation, one.Task, one.Owner = b.Type, b.Correlation, b.Task, b.Owner
		one.Epoch, one.Seq, one.Trace, one.Body = b.Epoch, b.Seq, b.Trace, b.Body
		all[i] = &one
	}
	return all, nil
}
