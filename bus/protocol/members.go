package protocol

import (
	"encoding/json"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/json/structjson"
	"github.com/parley-a2a/parley/task"
)

// The members of the bodies that occur in each job, in agreement with their tags. Other bodies
// are rare; encoding/json encodes them.
var (
	works = structjson.Of(
		structjson.Text("agent", func(w *Job) *task.Agent { return &w.Agent }).Always(),
		structjson.Text("skill", func(w *Job) *string { return &w.Skill }),
		structjson.Int("delivery", func(w *Job) *int64 { return &w.Delivery }).Always(),
		structjson.Text("key", func(w *Job) *string { return &w.Key }).Always(),
		structjson.Int("attempt", func(w *Job) *int { return &w.Attempt }).Always(),
		structjson.Int("hops", func(w *Job) *int { return &w.Hops }),
		structjson.Int("budget", func(w *Job) *int { return &w.Budget }),
		structjson.Text("alone", func(w *Job) *string { return &w.Alone }),
		structjson.Text("contextId", func(w *Job) *string { return &w.ContextID }).Always(),
		structjson.Raw("message", func(w *Job) *json.RawMessage { return &w.Message }),
		structjson.Raw("metadata", func(w *Job) *json.RawMessage { return &w.Metadata }),
		structjson.Raw("others", func(w *Job) *json.RawMessage { return &w.Others }),
		structjson.Raw("task", func(w *Job) *json.RawMessage { return &w.Stored }),
		structjson.Texts("acceptedOutputModes", func(w *Job) *[]string { return &w.AcceptedOutputModes }),
		structjson.Texts("extensions", func(w *Job) *[]string { return &w.Extensions }),
		structjson.Text("parentId", func(w *Job) *string { return &w.ParentID }),
		structjson.Text("reports", func(w *Job) *string { return &w.Reports }).Always(),
		structjson.Bool("batches", func(w *Job) *bool { return &w.Batches }),
		structjson.Struct("large", blobs, func(w *Job) **Blob { return &w.Large }),
	)
	claims = structjson.Of(
		structjson.Int("delivery", func(c *Claim) *int64 { return &c.Delivery }).Always(),
		structjson.Text("worker", func(c *Claim) *string { return &c.Worker }).Always(),
		structjson.Text("nonce", func(c *Claim) *string { return &c.Nonce }).Always(),
		structjson.Bool("idempotent", func(c *Claim) *bool { return &c.Idempotent }),
		structjson.Bool("batches", func(c *Claim) *bool { return &c.Batches }),
		structjson.Int("slots", func(c *Claim) *int { return &c.Slots }),
	)
	offers = structjson.Of(
		structjson.Raw("work", func(o *Offer) *json.RawMessage { return &o.Work }).Always(),
	)
	grants = structjson.Of(
		structjson.Text("nonce", func(g *Grant) *string { return &g.Nonce }).Always(),
		structjson.Text("token", func(g *Grant) *string { return &g.Token }).Always(),
		structjson.Int("lease", func(g *Grant) *int64 { return &g.Lease }).Always(),
	)
	reports = structjson.Of(
		structjson.Text("token", func(r *Report) *string { return &r.Token }).Always(),
		structjson.Text("worker", func(r *Report) *string { return &r.Worker }).Always(),
		structjson.Raws("events", func(r *Report) *[]json.RawMessage { return &r.Events }),
		structjson.Text("error", func(r *Report) *string { return &r.Error }),
		structjson.Bool("public", func(r *Report) *bool { return &r.Public }),
		structjson.Bool("ended", func(r *Report) *bool { return &r.Ended }),
		structjson.Bool("givenBack", func(r *Report) *bool { return &r.GivenBack }),
		structjson.Text("cancelRefused", func(r *Report) *string { return &r.CancelRefused }),
		structjson.Struct("large", blobs, func(r *Report) **Blob { return &r.Large }),
		structjson.Struct("piece", pieces, func(r *Report) **Piece { return &r.Piece }),
	)
	confirms = structjson.Of(
		structjson.Bool("final", func(c *Confirm) *bool { return &c.Final }),
	)
	heartbeats = structjson.Of(
		structjson.Text("worker", func(b *Heartbeat) *string { return &b.Worker }).Always(),
		structjson.Structs("jobs", heldJobs, func(b *Heartbeat) *[]HeldJob { return &b.Jobs }).Always(),
	)
	heldJobs = structjson.Of(
		structjson.Text("task", func(h *HeldJob) *string { return &h.Task }).Always(),
		structjson.Text("owner", func(h *HeldJob) *task.Owner { return &h.Owner }),
		structjson.Int("epoch", func(h *HeldJob) *int64 { return &h.Epoch }).Always(),
		structjson.Text("token", func(h *HeldJob) *string { return &h.Token }).Always(),
	)
	blobs = structjson.Of(
		structjson.Text("id", func(b *Blob) *string { return &b.ID }).Always(),
		structjson.Int("size", func(b *Blob) *int64 { return &b.Size }).Always(),
		structjson.Bytes("sha256", func(b *Blob) *[]byte { return &b.SHA256 }).Always(),
	)
	pieces = structjson.Of(
		structjson.Text("blob", func(p *Piece) *string { return &p.Blob }).Always(),
		structjson.Int("offset", func(p *Piece) *int64 { return &p.Offset }).Always(),
		structjson.Bytes("data", func(p *Piece) *[]byte { return &p.Data }).Always(),
	)
	batches = structjson.Of(
		structjson.Structs("envelopes", batched, func(b *Batch) *[]Batched { return &b.Envelopes }).Always(),
	)
	batched = structjson.Of(
		structjson.Text("type", func(b *Batched) *bus.Type { return &b.Type }).Always(),
		structjson.Text("correlation", func(b *Batched) *string { return &b.Correlation }),
		structjson.Text("task", func(b *Batched) *string { return &b.Task }),
		structjson.Text("owner", func(b *Batched) *task.Owner { return &b.Owner }),
		structjson.Int("epoch", func(b *Batched) *int64 { return &b.Epoch }),
		structjson.Int("seq", func(b *Batched) *int64 { return &b.Seq }),
		structjson.Map("trace", func(b *Batched) *map[string]string { return &b.Trace }),
		structjson.Raw("body", func(b *Batched) *json.RawMessage { return &b.Body }),
	)
)

// appendBody appends a body without encoding/json; it reports whether that is possible.
func appendBody(dst []byte, body any) ([]byte, bool) {
	switch b := body.(type) {
	case *Job:
		return works.Append(dst, b)
	case *Offer:
		return offers.Append(dst, b)
	case *Claim:
		return claims.Append(dst, b)
	case *Grant:
		return grants.Append(dst, b)
	case *Report:
		return reports.Append(dst, b)
	case *Confirm:
		return confirms.Append(dst, b)
	case *Heartbeat:
		return heartbeats.Append(dst, b)
	case *Piece:
		return pieces.Append(dst, b)
	case *Batch:
		return batches.Append(dst, b)
	}
	return dst, false
}

// readBody decodes valid JSON into a zero body without encoding/json; it reports whether that
// is possible.
func readBody(text []byte, body any) bool {
	switch b := body.(type) {
	case *Job:
		return works.Read(text, b)
	case *Offer:
		return offers.Read(text, b)
	case *Claim:
		return claims.Read(text, b)
	case *Grant:
		return grants.Read(text, b)
	case *Report:
		return reports.Read(text, b)
	case *Confirm:
		return confirms.Read(text, b)
	case *Heartbeat:
		return heartbeats.Read(text, b)
	case *Piece:
		return pieces.Read(text, b)
	case *Batch:
		return batches.Read(text, b)
	}
	return false
}

// sizeOf returns the likely size of a body in JSON, in bytes.
func sizeOf(body any) int {
	const little = 160
	switch b := body.(type) {
	case *Job:
		return 3*little + len(b.Message) + len(b.Metadata) + len(b.Stored)
	case *Offer:
		return little + len(b.Work)
	case *Report:
		n := little + len(b.Error)
		for _, event := range b.Events {
			n += len(event) + 1
		}
		return n
	case *Piece:
		return little + len(b.Data)*3/2
	case *Batch:
		n := little
		for i := range b.Envelopes {
			n += 2*little + len(b.Envelopes[i].Body)
		}
		return n
	}
	return little
}

// Decode decodes text into *body, which is a body of this package. It accepts the same texts as
// rawjson.Unmarshal, and returns the same errors. Raw JSON in the body may be a part of text, which
// must not change any more.
func Decode[T any](text json.RawMessage, body *T) error {
	*body = *new(T)
	if rawjson.Check(text, structjson.MaxDepth) == nil && readBody(text, body) {
		return nil
	}
	*body = *new(T)
	return rawjson.Unmarshal(text, body)
}
