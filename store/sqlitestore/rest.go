package sqlitestore

import (
	"encoding/binary"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// These begin the rest of a head. A later layout of its bytes takes another.
const (
	restFormat = 1
	// restAssigned is restFormat with an agent behind the holder: few heads have one.
	restAssigned = 2
)

// errRest is about the part of a head that has no columns.
var errRest = fmt.Errorf("head: %w", task.ErrCorrupt)

// appendRest appends what of h has no column: numbers of variable length, then
// strings behind their lengths. The status message is last, because it may be long.
func appendRest(b []byte, h *task.Head) []byte {
	format := byte(restFormat)
	if h.Assigned != "" {
		format = restAssigned
	}
	b = append(b, format)
	for _, n := range [...]int64{
		int64(h.Dialect), int64(h.CreatedAt), h.Asked, h.Read,
		h.Run.Epoch, h.Run.Seq, int64(h.Run.Dispatch), int64(h.Run.Attempt), int64(h.Marks()), int64(h.CancelAt),
	} {
		b = binary.AppendVarint(b, n)
	}
	b = appendString(b, h.Run.Holder)
	if format == restAssigned {
		b = appendString(b, h.Assigned)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Sealed)))
	for _, id := range h.Sealed {
		b = appendString(b, id)
	}
	if h.StatusMessage == nil {
		return b
	}
	return appendString(b, h.StatusMessage)
}

func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// decodeRest sets in h what appendRest has written. h does not share memory with b.
func decodeRest(b []byte, h *task.Head) error {
	if len(b) == 0 || b[0] != restFormat && b[0] != restAssigned {
		return errRest
	}
	assigned := b[0] == restAssigned
	r := restReader{left: b[1:]}
	h.Dialect = uint8(r.int())
	h.CreatedAt = task.Millis(r.int())
	h.Asked = r.int()
	h.Read = r.int()
	h.Run = task.Run{
		Epoch:    r.int(),
		Seq:      r.int(),
		Dispatch: task.Dispatch(r.int()),
		Attempt:  int(r.int()),
	}
	h.SetMarks(byte(r.int()))
	h.CancelAt = task.Millis(r.int())
	h.Run.Holder = task.Holder(r.bytes())
	h.Assigned = ""
	if assigned {
		h.Assigned = task.Agent(r.bytes())
	}
	h.Sealed = nil
	for n := r.uint(); n > 0 && !r.bad; n-- {
		h.Sealed = append(h.Sealed, a2a.ArtifactID(r.bytes()))
	}
	h.StatusMessage = nil
	if len(r.left) > 0 {
		h.StatusMessage = append([]byte{}, r.bytes()...)
	}
	if r.bad || len(r.left) > 0 {
		return errRest
	}
	return nil
}

// restReader reads the rest of a head. After a mistake it gives zeros.
type restReader struct {
	left []byte
	bad  bool
}

func (r *restReader) int() int64 {
	v, n := binary.Varint(r.left)
	r.skip(n)
	return v
}

func (r *restReader) uint() uint64 {
	v, n := binary.Uvarint(r.left)
	r.skip(n)
	return v
}

// skip leaves the n bytes of a number behind; none or fewer means that there was
// no number.
func (r *restReader) skip(n int) {
	if n <= 0 {
		r.left, r.bad = nil, true
		return
	}
	r.left = r.left[n:]
}

func (r *restReader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.left)) {
		r.left, r.bad = nil, true
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}
