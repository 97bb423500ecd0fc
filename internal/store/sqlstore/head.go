package sqlstore

import (
	"encoding/binary"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/varint"
)

// The first byte of the rest of a head. Later layouts use other values.
const (
	restFormat = 1
	// restAssigned is restFormat with an agent after the holder: few heads have one.
	restAssigned = 2
)

// errRest is the error for a damaged rest of a head.
var errRest = fmt.Errorf("head: %w", task.ErrCorrupt)

// AppendHead appends the fields of h that have no column of a table: numbers of variable length, then
// strings after their lengths. The status message is last, because it may be long.
func AppendHead(b []byte, h *task.Head) []byte {
	format := byte(restFormat)
	if h.Assigned != "" {
		format = restAssigned
	}
	from := len(b)
	b = append(BeginChecked(b), format)
	for _, n := range [...]int64{
		int64(h.Dialect), int64(h.CreatedAt), h.LastMessage, h.Consumed,
		h.Run.Epoch, h.Run.Seq, int64(h.Run.Dispatch), int64(h.Run.Attempt), int64(h.Flags()), int64(h.CancelAt),
	} {
		b = binary.AppendVarint(b, n)
	}
	b = varint.AppendBytes(b, h.Run.Holder)
	if format == restAssigned {
		b = varint.AppendBytes(b, h.Assigned)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Sealed)))
	for _, id := range h.Sealed {
		b = varint.AppendBytes(b, id)
	}
	if h.StatusMessage != nil {
		b = varint.AppendBytes(b, h.StatusMessage)
	}
	EndChecked(b[from:])
	return b
}

// DecodeHead sets the fields of h that AppendHead has written. h does not share memory with b. The
// error for damaged bytes wraps task.ErrCorrupt. If it is ErrChecksum, the fields are set
// nevertheless, and any of them may be wrong.
func DecodeHead(b []byte, h *task.Head) error {
	b, changed := Content(b)
	if len(b) == 0 || b[0] != restFormat && b[0] != restAssigned {
		return errRest
	}
	assigned := b[0] == restAssigned
	r := varint.Reader{Left: b[1:]}
	h.Dialect = uint8(r.Int())
	h.CreatedAt = task.Millis(r.Int())
	h.LastMessage = r.Int()
	h.Consumed = r.Int()
	h.Run = task.Run{
		Epoch:    r.Int(),
		Seq:      r.Int(),
		Dispatch: task.Dispatch(r.Int()),
		Attempt:  int(r.Int()),
	}
	h.SetFlags(byte(r.Int()))
	h.CancelAt = task.Millis(r.Int())
	h.Run.Holder = task.Holder(r.Bytes())
	h.Assigned = ""
	if assigned {
		h.Assigned = task.Agent(r.Bytes())
	}
	h.Sealed = nil
	for range r.Count(1) {
		h.Sealed = append(h.Sealed, a2a.ArtifactID(r.Bytes()))
	}
	h.StatusMessage = nil
	if len(r.Left) > 0 {
		h.StatusMessage = append([]byte{}, r.Bytes()...)
	}
	if !r.Done() {
		return errRest
	}
	if changed != nil {
		return fmt.Errorf("head: %w", changed)
	}
	return nil
}

// Ended returns when the task of h ended or was answered, or zero if it is open.
func Ended(h *task.Head) task.Millis {
	switch {
	case h.State.Terminal():
		return max(h.StatusAt, 1)
	case h.Visibility == task.Replied:
		return max(h.UpdatedAt, 1)
	}
	return 0
}

// Following returns the head after the next entry of a log, without its run. The error wraps
// task.ErrCorrupt.
func Following(h *task.Head, e task.Entry) (task.Head, error) {
	if e.Version != h.Version+1 {
		return task.Head{}, fmt.Errorf("entry %d is missing: %w", h.Version+1, task.ErrCorrupt)
	}
	e.Epoch, e.Seq = 0, 0 // runs are not repeated
	next, _, err := task.Apply(*h, e)
	if err != nil {
		return task.Head{}, fmt.Errorf("entry %d: %w: %w", e.Version, err, task.ErrCorrupt)
	}
	return next, nil
}
