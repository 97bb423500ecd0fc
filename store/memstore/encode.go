package memstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/varint"
	"github.com/parley-a2a/parley/task"
)

// Limits of a segment, the part of a log that is decoded as a whole. They are small enough that
// a read decodes little more than the page.
const (
	segmentEntries = 32
	segmentBytes   = 64 << 10
)

// segmentPrefix is the size in bytes of the length before a segment.
const segmentPrefix = 8

// appendSegments appends consecutive entries in the form that readSegments reads.
func appendSegments(dst []byte, es []task.Entry) []byte {
	for len(es) > 0 {
		n := pageOf(es, segmentEntries, segmentBytes)
		from := len(dst)
		dst = append(dst, make([]byte, segmentPrefix)...)
		dst = task.AppendEntries(dst, es[:n])
		binary.LittleEndian.PutUint64(dst[from:], uint64(len(dst)-from-segmentPrefix))
		es = es[n:]
	}
	return dst
}

// pageOf returns the number of entries at the start of es that form a page: at least one, at
// most entries, each beginning within size bytes.
func pageOf(es []task.Entry, entries, size int) int {
	n, sum := 0, 0
	for n < len(es) && n < entries && (n == 0 || sum < size) {
		sum += es[n].Size()
		n++
	}
	return n
}

// readSegments returns a page of the entries above after. Their slices alias b.
func readSegments(b []byte, after int64) ([]task.Entry, error) {
	var page []task.Entry
	for len(b) > 0 && len(page) < pageEntries && pageOf(page, pageEntries, pageBytes) == len(page) {
		var segment []byte
		if segment, b = cutSegment(b); task.LastVersion(segment) <= after {
			continue
		}
		es, err := task.DecodeEntries(segment)
		if err != nil {
			return nil, err
		}
		for len(es) > 0 && es[0].Version <= after {
			es = es[1:]
		}
		if page == nil {
			page = es
		} else {
			page = append(page, es...)
		}
	}
	n := pageOf(page, pageEntries, pageBytes)
	return page[:n:n], nil
}

// cutSegment returns the first segment of b and the bytes after it.
func cutSegment(b []byte) (segment, rest []byte) {
	if len(b) < segmentPrefix {
		return nil, nil
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[segmentPrefix:]
	n = min(n, uint64(len(b)))
	return b[:n:n], b[n:]
}

// appendPacked appends a task with its segments, in the form that the functions below read.
func appendPacked(dst []byte, h *task.Head, segments []byte) []byte {
	return appendRow(varint.AppendBytes(dst, segments), h, segments)
}

// packedSegments returns the segments of a packed task.
func packedSegments(b []byte) []byte {
	r := varint.Reader{Left: b}
	return r.Bytes()
}

// packedHead returns the head of a packed task, with the given key. Its slices alias b. Errors
// wrap ErrCorrupt.
func packedHead(key task.Key, b []byte) (task.Head, error) {
	r := reader{varint.Reader{Left: b}}
	segments := r.Bytes()
	h := r.row(segments)
	h.Key = key
	if !r.Done() {
		return h, fmt.Errorf("decode head: %w", task.ErrCorrupt)
	}
	return h, nil
}

// appendRow appends all fields of h except Key. The message of the status usually is in the
// segments as well, as the body of the status's entry: then it is not repeated.
func appendRow(dst []byte, h *task.Head, segments []byte) []byte {
	dst = append(dst, h.Dialect, byte(h.Visibility), byte(h.State), byte(h.Run.Dispatch), h.Flags())
	for _, n := range [...]int64{
		h.Rev, h.Version, int64(h.CreatedAt), int64(h.StatusAt - h.CreatedAt), int64(h.UpdatedAt - h.CreatedAt),
		h.LastMessage, h.Consumed, h.Run.Epoch, h.Run.Seq, int64(h.Run.Attempt), int64(h.CancelAt),
	} {
		dst = binary.AppendVarint(dst, n)
	}
	texts := [...]string{string(h.ID), h.ContextID, string(h.Owner), string(h.Agent), string(h.Run.Holder), string(h.Assigned)}
	for _, s := range texts {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
	}
	for _, s := range texts {
		dst = append(dst, s...)
	}
	dst = appendShared(dst, h.StatusMessage, segments)
	dst = binary.AppendUvarint(dst, uint64(len(h.Sealed)))
	for _, id := range h.Sealed {
		dst = varint.AppendBytes(dst, id)
	}
	return dst
}

// appendShared appends b, or its position in base.
func appendShared(dst, b, base []byte) []byte {
	at := -1
	if len(b) > 0 {
		at = bytes.LastIndex(base, b)
	}
	dst = binary.AppendVarint(dst, int64(at))
	if at < 0 {
		return varint.AppendBytes(dst, b)
	}
	return binary.AppendUvarint(dst, uint64(len(b)))
}

// reader reads packed tasks.
type reader struct{ varint.Reader }

func (r *reader) row(segments []byte) task.Head {
	var h task.Head
	h.Dialect, h.Visibility, h.State = r.Byte(), task.Visibility(r.Byte()), task.State(r.Byte())
	h.Run.Dispatch = task.Dispatch(r.Byte())
	h.SetFlags(r.Byte())
	h.Rev, h.Version = r.Int(), r.Int()
	h.CreatedAt = task.Millis(r.Int())
	h.StatusAt = h.CreatedAt + task.Millis(r.Int())
	h.UpdatedAt = h.CreatedAt + task.Millis(r.Int())
	h.LastMessage, h.Consumed = r.Int(), r.Int()
	h.Run.Epoch, h.Run.Seq, h.Run.Attempt = r.Int(), r.Int(), int(r.Int())
	h.CancelAt = task.Millis(r.Int())
	texts := r.texts()
	h.ID, h.ContextID = a2a.TaskID(texts[0]), texts[1]
	h.Owner, h.Agent, h.Run.Holder, h.Assigned = task.Owner(texts[2]), task.Agent(texts[3]), task.Holder(texts[4]), task.Agent(texts[5])
	h.StatusMessage = r.shared(segments)
	if n := r.Count(1); n > 0 {
		h.Sealed = make([]a2a.ArtifactID, n)
		for i := range h.Sealed {
			h.Sealed[i] = a2a.ArtifactID(r.Bytes())
		}
	}
	return h
}

// texts returns the strings of a head, which share one allocation.
func (r *reader) texts() (texts [6]string) {
	var lengths [len(texts)]int
	sum := 0
	for i := range lengths {
		lengths[i] = r.Count(1)
		sum += lengths[i]
	}
	if r.Bad || sum > len(r.Left) {
		r.Bad = true
		return texts
	}
	all := string(r.Left[:sum])
	r.Left = r.Left[sum:]
	for i, n := range lengths {
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

// shared returns the bytes that appendShared wrote.
func (r *reader) shared(base []byte) []byte {
	at := r.Int()
	if at < 0 {
		return r.Bytes()
	}
	n := r.Uint()
	if at > int64(len(base)) || n > uint64(int64(len(base))-at) {
		r.Bad = true
		return nil
	}
	end := at + int64(n)
	return base[at:end:end]
}

// unpack returns a task with all its entries.
func unpack(key task.Key, b []byte) (*record, error) {
	h, err := packedHead(key, b)
	if err != nil {
		return nil, fmt.Errorf("unpack task %d: %w", key, err)
	}
	r := &record{head: h}
	for segments := packedSegments(b); len(segments) > 0; {
		var segment []byte
		segment, segments = cutSegment(segments)
		es, err := task.DecodeEntries(segment)
		if err != nil {
			return nil, fmt.Errorf("unpack task %d: %w", key, err)
		}
		r.entries = append(r.entries, es...)
	}
	return r, nil
}

// packer holds the buffers in which tasks are packed.
type packer struct {
	entries          []task.Entry
	segments, packed []byte
}

// maxPacker is the largest buffer that a packer keeps.
const maxPacker = 256 << 10

// pack returns the packed form of r with further entries at its end. The bytes are valid until
// the next call.
func (p *packer) pack(r *record, more []task.Entry) []byte {
	if cap(p.packed) > maxPacker {
		*p = packer{}
	}
	p.entries = append(append(p.entries[:0], r.entries...), more...)
	p.segments = appendSegments(p.segments[:0], p.entries)
	p.packed = appendPacked(p.packed[:0], &r.head, p.segments)
	clear(p.entries)
	return p.packed
}
