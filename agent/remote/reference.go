package remote

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// maxReferences is how many of the tasks that a message refers to are looked up.
const maxReferences = 16

// refer finds the tasks that the message refers to. A task that the peer has performed for the
// same caller gets the peer's id. Any other id stays as the caller wrote it, and may be one
// that the peer has sent.
func (r *run) refer(ctx context.Context) error {
	list := member(r.call.Message, "referenceTaskIds")
	if list == nil {
		return nil
	}
	b, n := []byte{'['}, 0
	for raw := range rawjson.Elements(list) {
		if n > 0 {
			b = append(b, ',')
		}
		id, ok := rawjson.String(raw)
		if n++; !ok || n > maxReferences {
			b = append(b, raw...)
			continue
		}
		there, err := r.idThere(ctx, a2a.TaskID(id))
		if err != nil {
			return err
		}
		b = rawjson.AppendString(b, string(there))
	}
	r.references = append(b, ']')
	return nil
}

// idThere returns the peer's id of a task; id itself if the peer has none for it.
func (r *run) idThere(ctx context.Context, id a2a.TaskID) (a2a.TaskID, error) {
	if id == r.ec.TaskID && r.h.Task != "" {
		return r.h.Task, nil
	}
	saved, err := r.call.CheckpointOf(ctx, id)
	if err != nil {
		return "", err
	}
	h, err := decodeHandle(saved)
	if err != nil || h.Task == "" {
		return id, err
	}
	return h.Task, nil
}
