package blobstore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

const (
	// DefaultMax is the default maximum size of a stored part, in bytes.
	DefaultMax = 64 << 20
	// MaxFill limits the number of bytes that Fill puts into one text.
	MaxFill = 64 << 20
	// PathPrefix is the path at which hubs serve parts, followed by the id of the task and the
	// digest.
	PathPrefix = "/v1/parts/"
	// MetadataKey is the metadata member of a part that describes its reference.
	MetadataKey = "parley.part"
)

// Reference is the value of MetadataKey.
type Reference struct {
	SHA256 string `json:"sha256"`
	// Size is the number of bytes.
	Size int64 `json:"size"`
	// Keep is the number of seconds for which the part is kept after the end of its task.
	Keep int64 `json:"keptSeconds"`
}

// Externalizer replaces large parts by references, and references by their bytes. All texts are
// valid v1.0 JSON of messages or artifacts, with their parts in the member "parts".
type Externalizer struct {
	Store Store
	// Base is the address of the hub, without PathPrefix.
	Base string
	// Threshold is the size, in bytes, above which a part is stored. It must be positive.
	Threshold int64
	// Max is the maximum size of a stored part, in bytes. Zero means DefaultMax.
	Max int64
}

// Pending are the parts put for one text whose entry is not written yet.
type Pending struct {
	store Store
	key   Key
	all   []Digest
}

// Keep reports that the entry was written, Drop that it was not, and Defer that this is
// unknown. Exactly one of them must be called, once.
func (h *Pending) Keep() { h.each(Store.Keep) }

// Drop is described at Keep.
func (h *Pending) Drop() { h.each(Store.Drop) }

// Defer is described at Keep.
func (h *Pending) Defer() { h.each(Store.Defer) }

func (h *Pending) each(f func(Store, Key, Digest)) {
	for _, d := range h.all {
		f(h.store, h.key, d)
	}
	h.all = nil
}

// Begin returns an empty Pending for a change of a task.
func (k *Externalizer) Begin(key Key) *Pending { return &Pending{store: k.Store, key: key} }

// max returns Max or its default.
func (k *Externalizer) max() int64 {
	if k.Max > 0 {
		return k.Max
	}
	return DefaultMax
}

// Externalize returns body with references in place of large parts; body itself if there are
// none. Stored parts are added to h. An error about one part is a *PartError. With link set,
// references to parts of other tasks of the owner are linked to the task, and a failure is an
// error. The caller must check before whether these parts may be read, see Addresses.
func (k *Externalizer) Externalize(h *Pending, body []byte, link bool) ([]byte, error) {
	if int64(len(body)) <= k.Threshold && !Mentions(body) {
		return body, nil
	}
	s := externalizeState{k: k, pending: h, links: link}
	out, err := eachPart(body, s.part)
	if err != nil || !s.changed {
		return body, err
	}
	return out, nil
}

// Check returns a *PartError if a text has a part that exceeds the maximum size.
func (k *Externalizer) Check(body []byte) error {
	if int64(len(body)) <= max(k.max(), k.Threshold) {
		return nil
	}
	index := -1
	_, err := eachPart(body, func(dst, part []byte) ([]byte, error) {
		index++
		size := rawSize(rawjson.Member(part, "raw"))
		if size <= max(k.max(), k.Threshold) {
			return dst, nil
		}
		return dst, &PartError{Index: index, Err: &TooLargeError{Size: size, Max: k.max()}}
	})
	return err
}

// Addresses returns the tasks to whose parts a text refers, by the index of the referring part.
func (k *Externalizer) Addresses(body []byte) map[int]a2a.TaskID {
	if !Mentions(body) {
		return nil
	}
	index, found := -1, make(map[int]a2a.TaskID)
	_, _ = eachPart(body, func(dst, part []byte) ([]byte, error) {
		index++
		if at, ok := k.read(rawjson.Member(part, "url"), false); ok {
			found[index] = at.task
		}
		return dst, nil
	})
	return found
}

// Fill returns body with the bytes of the task's parts in place of references to them, at most
// MaxFill bytes. Parts that cannot be read remain references; lost, if not nil, is called for
// each of them.
func (k *Externalizer) Fill(key Key, body []byte, lost func(Digest, error)) []byte {
	if !Mentions(body) {
		return body
	}
	f := filler{k: k, key: key, left: max(MaxFill, k.max()), lost: lost}
	out, _ := eachPart(body, f.part)
	return out
}

// FillTask is Fill for the JSON of a task.
func (k *Externalizer) FillTask(key Key, body []byte, lost func(Digest, error)) []byte {
	if !Mentions(body) {
		return body
	}
	f := filler{k: k, key: key, left: max(MaxFill, k.max()), lost: lost}
	whole := func(b []byte) []byte { out, _ := eachPart(b, f.part); return out }
	out := []byte{'{'}
	for name, v := range rawjson.Fields(body) {
		switch name {
		case "artifacts", "history":
			v = eachElement(v, whole)
		case "status":
			v = eachMember(v, "message", whole)
		}
		out = appendMember(out, name, v)
	}
	return append(out, '}')
}

// Names reports whether a text has a reference to the part of the task.
func (k *Externalizer) Names(key Key, body []byte, d Digest) (named bool) {
	if !Mentions(body) {
		return false
	}
	_, _ = eachPart(body, func(dst, part []byte) ([]byte, error) {
		for name, v := range rawjson.Fields(part) {
			if name == "url" {
				at, ok := k.read(v, true)
				named = named || ok && at.task == key.Task && at.digest == d
			}
		}
		return dst, nil
	})
	return named
}

// address is a parsed address of a part.
type address struct {
	task   a2a.TaskID
	digest Digest
}

// URL returns the address of a part.
func (k *Externalizer) URL(id a2a.TaskID, d Digest) string {
	return strings.TrimRight(k.Base, "/") + PathPrefix + url.PathEscape(string(id)) + "/" + d.String()
}

// ParsePath parses the path behind PathPrefix: the escaped id of a task, and a digest.
func ParsePath(tail string) (id a2a.TaskID, d Digest, ok bool) {
	name, digest, ok := strings.Cut(tail, "/")
	if !ok || name == "" {
		return "", d, false
	}
	if d, ok = ParseDigest(digest); !ok {
		return "", d, false
	}
	name, err := url.PathUnescape(name)
	return a2a.TaskID(name), d, err == nil
}

// read parses the JSON of an address. It must be an address of this hub, unless it is marked:
// the hub may have changed its address.
func (k *Externalizer) read(v []byte, marked bool) (address, bool) {
	s, _ := rawjson.String(v)
	tail, ok := strings.CutPrefix(s, strings.TrimRight(k.Base, "/")+PathPrefix)
	if i := strings.LastIndex(s, PathPrefix); !ok && marked && i >= 0 {
		tail, ok = s[i+len(PathPrefix):], true
	}
	if !ok {
		return address{}, false
	}
	id, d, ok := ParsePath(tail)
	return address{id, d}, ok
}

// externalizeState is the state of one Externalize.
type externalizeState struct {
	k       *Externalizer
	pending *Pending
	links   bool
	changed bool
	index   int
}

func (s *externalizeState) part(dst, part []byte) ([]byte, error) {
	i := s.index
	s.index++
	p, err := s.store(part)
	if err != nil {
		return dst, &PartError{Index: i, Err: err}
	}
	if p == nil {
		return append(dst, part...), nil
	}
	s.changed = true
	s.pending.all = append(s.pending.all, p.Digest)
	return s.k.appendReference(dst, part, s.pending.key.Task, p), nil
}

// store stores or links a part for the task; nil for other parts.
func (s *externalizeState) store(part []byte) (*Part, error) {
	var p Part
	var raw, address []byte
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "raw":
			raw = v
		case "url":
			address = v
		case "mediaType":
			p.MediaType, _ = rawjson.String(v)
		case "filename":
			p.Filename, _ = rawjson.String(v)
		}
	}
	switch {
	case raw != nil:
		return s.put(&p, raw)
	case address != nil:
		return s.link(address)
	}
	return nil, nil
}

// put stores the bytes of a large part; nil for a small one.
func (s *externalizeState) put(p *Part, raw []byte) (*Part, error) {
	size := rawSize(raw)
	if size <= s.k.Threshold {
		return nil, nil
	}
	if most := s.k.max(); size > most {
		return nil, &TooLargeError{Size: size, Max: most}
	}
	r := &rawReader{raw: raw[1 : len(raw)-1]}
	_, _ = r.Seek(0, io.SeekStart)
	got, err := s.k.Store.Put(s.pending.key, *p, r)
	if err != nil {
		return nil, err
	}
	return &got, nil
}

// rawReader decodes base64. It can be read again from its beginning.
type rawReader struct {
	raw []byte
	io.Reader
}

// Seek implements io.Seeker for the beginning.
func (r *rawReader) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("seek: only the beginning is supported")
	}
	r.Reader = base64.NewDecoder(base64.StdEncoding, bytes.NewReader(r.raw))
	return 0, nil
}

// link links a part of another task of the owner to the task.
func (s *externalizeState) link(address []byte) (*Part, error) {
	at, ok := s.k.read(address, false)
	if !ok || !s.links {
		return nil, nil
	}
	got, err := s.k.Store.Link(s.pending.key, at.task, at.digest)
	if err != nil {
		return nil, err
	}
	return &got, nil
}

// rawSize returns the number of bytes that padded base64 encodes; v includes the quotation
// marks.
func rawSize(v []byte) int64 {
	if len(v) < 2 {
		return 0
	}
	text := v[1 : len(v)-1]
	pad := 0
	for pad < 2 && pad < len(text) && text[len(text)-1-pad] == '=' {
		pad++
	}
	return int64(len(text)/4*3 - pad)
}

// appendReference appends a part with an address in place of its bytes.
func (k *Externalizer) appendReference(dst, part []byte, id a2a.TaskID, p *Part) []byte {
	mark, err := json.Marshal(Reference{p.Digest.String(), p.Size, int64(p.Keep.Seconds())})
	if err != nil {
		panic("blobstore: " + err.Error()) // a Reference can always be encoded
	}
	out, marked := []byte{'{'}, false
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "raw", "url":
			name, v = "url", rawjson.AppendString(nil, k.URL(id, p.Digest))
		case "metadata":
			v, marked = withMark(v, mark), true
		}
		out = appendMember(out, name, v)
	}
	if !marked {
		out = appendMember(out, "metadata", withMark(nil, mark))
	}
	return append(append(dst, out...), '}')
}

// withMark returns metadata with the reference mark, replacing another one.
func withMark(meta, mark []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(meta) {
		if name != MetadataKey {
			out = appendMember(out, name, v)
		}
	}
	return append(appendMember(out, MetadataKey, mark), '}')
}

// filler is the state of one Fill.
type filler struct {
	k    *Externalizer
	key  Key
	left int64
	lost func(Digest, error)
}

func (f *filler) part(dst, part []byte) ([]byte, error) {
	var address, mark []byte
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "url":
			address = v
		case "metadata":
			mark = rawjson.Member(v, MetadataKey)
		}
	}
	at, ok := f.k.read(address, mark != nil)
	if !ok || at.task != f.key.Task {
		return append(dst, part...), nil
	}
	raw, err := f.bytes(at.digest)
	if err != nil && f.lost != nil {
		f.lost(at.digest, err)
	}
	if raw == nil {
		return append(dst, part...), nil
	}
	return appendFilled(dst, part, raw), nil
}

// bytes returns the bytes of a part as JSON, or nil if they exceed the remaining limit or
// cannot be read.
func (f *filler) bytes(d Digest) ([]byte, error) {
	c, err := f.k.Store.Open(f.key, d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if c.Size > f.left {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(c, c.Size))
	if err != nil {
		return nil, err
	}
	f.left -= c.Size
	out := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(b))+2), '"')
	return append(base64.StdEncoding.AppendEncode(out, b), '"'), nil
}

// appendFilled appends a part with its bytes in place of the reference.
func appendFilled(dst, part, raw []byte) []byte {
	out := append(make([]byte, 0, len(part)+len(raw)), '{')
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "url":
			name, v = "raw", raw
		case "metadata":
			if v = withoutMark(v); len(v) == len("{}") {
				continue
			}
		}
		out = appendMember(out, name, v)
	}
	return append(append(dst, out...), '}')
}

func withoutMark(meta []byte) []byte {
	out := []byte{'{'}
	for name, v := range rawjson.Fields(meta) {
		if name != MetadataKey {
			out = appendMember(out, name, v)
		}
	}
	return append(out, '}')
}
