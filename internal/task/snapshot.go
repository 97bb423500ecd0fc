package task

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/varint"
)

// AppendBinary appends f in the form that DecodeFold reads. Stores keep it as a Snapshot.
func (f *Fold) AppendBinary(dst []byte) []byte {
	format := byte(foldFormat)
	if f.others.len() > 0 || f.status != nil {
		format = foldOthers
	}
	since := f.asked()
	if slices.ContainsFunc(f.artifacts, func(a artifact) bool { return a.version <= since && a.version != f.Version }) {
		format = foldTurns // readers cannot infer the turns of the artifacts
	}
	dst = append(dst, format)
	dst = binary.AppendUvarint(dst, uint64(f.Version))
	dst = binary.AppendUvarint(dst, uint64(len(f.messages)))
	for i := range f.messages {
		m := &f.messages[i]
		dst = append(dst, flagIf(m.caller, 1))
		dst = binary.AppendUvarint(dst, uint64(m.version))
		dst = varint.AppendBytes(dst, m.body)
	}
	dst = binary.AppendUvarint(dst, uint64(f.current))
	dst = binary.AppendUvarint(dst, uint64(len(f.artifacts)))
	for i := range f.artifacts {
		dst = f.artifacts[i].appendBinary(dst)
	}
	dst = f.meta.appendBinary(dst)
	if format >= foldOthers {
		dst = varint.AppendBytes(f.others.appendBinary(dst), f.status)
	}
	if format == foldTurns {
		for i := range f.artifacts {
			dst = binary.AppendUvarint(dst, uint64(f.artifacts[i].version))
		}
	}
	return dst
}

func (a *artifact) appendBinary(dst []byte) []byte {
	dst = varint.AppendBytes(dst, a.id)
	dst = a.fields.appendBinary(dst)
	dst = a.meta.appendBinary(dst)
	if len(a.parts) == 1 {
		return varint.AppendBytes(dst, a.parts[0])
	}
	return varint.AppendBytes(dst, a.appendParts(nil))
}

func (m *members) appendBinary(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(m.list)))
	for i := range m.list {
		dst = varint.AppendBytes(dst, m.list[i].name)
		dst = varint.AppendBytes(dst, m.list[i].value)
	}
	return dst
}

// DecodeFold returns the fold that AppendBinary wrote. It aliases b. Errors wrap ErrCorrupt.
func DecodeFold(b []byte) (*Fold, error) {
	r := reader{varint.Reader{Left: b}}
	format := r.Byte()
	if (format < foldFormat || format > foldTurns) && !r.Bad {
		return nil, fmt.Errorf("decode fold: format %d: %w", format, ErrCorrupt)
	}
	f := &Fold{Version: int64(r.Uint())}
	if n := r.Count(3); n > 0 {
		f.messages = make([]message, n)
	}
	for i := range f.messages {
		f.messages[i] = message{caller: r.Byte() != 0, version: int64(r.Uint()), body: r.Bytes()}
	}
	current := r.Uint()
	if current > uint64(len(f.messages)) {
		r.Bad = true
	}
	f.current = int(current)
	for range r.Count(4) {
		r.artifact(f)
	}
	r.members(&f.meta)
	if format >= foldOthers {
		r.members(&f.others)
		f.status = r.Bytes()
	}
	for i := range f.artifacts {
		f.artifacts[i].version = f.Version // part of the last turn
		if format == foldTurns {
			f.artifacts[i].version = int64(r.Uint())
		}
	}
	if err := r.done("decode fold"); err != nil {
		return nil, err
	}
	return f, nil
}

func (r *reader) artifact(f *Fold) {
	id := a2a.ArtifactID(r.Bytes())
	if _, twice := f.find(id); twice || r.Bad {
		r.Bad = true
		return
	}
	a := &f.artifacts[f.addArtifactID(id)]
	r.members(&a.fields)
	r.members(&a.meta)
	if parts := r.Bytes(); len(parts) > 0 {
		a.parts = [][]byte{parts}
	}
}

func (r *reader) members(m *members) {
	for range r.Count(2) {
		name := string(r.Bytes())
		if value := r.Bytes(); !r.Bad {
			m.set(name, value)
		}
	}
}
