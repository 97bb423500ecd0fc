package task

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/varint"
)

// ErrCorrupt is returned for stored bytes that this program did not write.
var ErrCorrupt = errors.New("stored data is damaged")

// The first byte of a stored form, which distinguishes later forms.
const (
	entriesFormat = 1
	foldFormat    = 1
	// foldOthers is foldFormat followed by unknown members.
	foldOthers = 2
	// foldTurns is foldOthers followed by the versions of the artifacts.
	foldTurns = 3
)

// Flags of an encoded entry.
const (
	hasBody = 1 << iota
	hasMeta
	hasCall
	hasRun
	hasArtifact
	// sameArtifact means the artifact of the previous entry.
	sameArtifact
	isAppend
	isLastChunk
)

// hasOthers is a bit in the byte of the kind, because all flags are used.
const hasOthers = 1 << 7

// AppendEntries appends the compact form in which stores keep consecutive entries of one task.
// Empty bodies are the same as absent ones.
func AppendEntries(dst []byte, es []Entry) []byte {
	dst = append(dst, entriesFormat)
	dst = binary.AppendUvarint(dst, uint64(len(es)))
	if len(es) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(es[0].Version))
	var before Entry
	for i := range es {
		dst = appendEntry(dst, &before, &es[i])
		before.At, before.ArtifactID = es[i].At, es[i].ArtifactID
	}
	return dst
}

func appendEntry(dst []byte, before, e *Entry) []byte {
	flags := flagsOf(before, e)
	dst = append(dst, byte(e.Kind)|flagIf(len(e.Others) > 0, hasOthers), byte(e.State), flags)
	dst = binary.AppendVarint(dst, int64(e.At-before.At))
	if flags&hasRun != 0 {
		dst = binary.AppendVarint(dst, e.Epoch)
		dst = binary.AppendVarint(dst, e.Seq)
	}
	if flags&hasArtifact != 0 {
		dst = varint.AppendBytes(dst, e.ArtifactID)
	}
	if flags&hasBody != 0 {
		dst = varint.AppendBytes(dst, e.Body)
	}
	if flags&hasMeta != 0 {
		dst = varint.AppendBytes(dst, e.Meta)
	}
	if flags&hasCall != 0 {
		dst = varint.AppendBytes(dst, e.Call)
	}
	if len(e.Others) > 0 {
		dst = varint.AppendBytes(dst, e.Others)
	}
	return dst
}

func flagsOf(before, e *Entry) byte {
	flags := flagIf(len(e.Body) > 0, hasBody) |
		flagIf(len(e.Meta) > 0, hasMeta) |
		flagIf(len(e.Call) > 0, hasCall) |
		flagIf(e.Epoch != 0 || e.Seq != 0, hasRun) |
		flagIf(e.Append, isAppend) |
		flagIf(e.LastChunk, isLastChunk)
	switch e.ArtifactID {
	case "":
	case before.ArtifactID:
		flags |= sameArtifact
	default:
		flags |= hasArtifact
	}
	return flags
}

func flagIf(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

// leastEntry is the length of the shortest encoded entry.
const leastEntry = 4

// DecodeEntries returns the entries that AppendEntries wrote. Their slices alias b. Errors wrap
// ErrCorrupt.
func DecodeEntries(b []byte) ([]Entry, error) {
	r := reader{varint.Reader{Left: b}}
	if format := r.Byte(); format != entriesFormat && !r.Bad {
		return nil, fmt.Errorf("decode entries: format %d: %w", format, ErrCorrupt)
	}
	n := r.Count(leastEntry)
	if n == 0 {
		return nil, r.done("decode entries")
	}
	version := int64(r.Uint())
	es := make([]Entry, n)
	var before Entry
	for i := range es {
		e := &es[i]
		e.Version = version + int64(i)
		r.entry(&before, e)
		before.At, before.ArtifactID = e.At, e.ArtifactID
	}
	if err := r.done("decode entries"); err != nil {
		return nil, err
	}
	return es, nil
}

func (r *reader) entry(before, e *Entry) {
	kind := r.Byte()
	e.Kind, e.State = Kind(kind&^hasOthers), State(r.Byte())
	flags := r.Byte()
	if e.Kind < Created || e.Kind > Other || e.State >= numStates {
		r.Bad = true
	}
	e.At = before.At + Millis(r.Int())
	e.Append, e.LastChunk = flags&isAppend != 0, flags&isLastChunk != 0
	if flags&hasRun != 0 {
		e.Epoch, e.Seq = r.Int(), r.Int()
	}
	switch {
	case flags&hasArtifact != 0:
		e.ArtifactID = a2a.ArtifactID(r.Bytes())
	case flags&sameArtifact != 0:
		e.ArtifactID = before.ArtifactID
	}
	if flags&hasBody != 0 {
		e.Body = r.Bytes()
	}
	if flags&hasMeta != 0 {
		e.Meta = r.Bytes()
	}
	if flags&hasCall != 0 {
		e.Call = r.Bytes()
	}
	if kind&hasOthers != 0 {
		e.Others = r.Bytes()
	}
}

// reader reads the stored forms of this package.
type reader struct{ varint.Reader }

// done returns an error unless all bytes were read and valid.
func (r *reader) done(operation string) error {
	if !r.Done() {
		return fmt.Errorf("%s: %w", operation, ErrCorrupt)
	}
	return nil
}
