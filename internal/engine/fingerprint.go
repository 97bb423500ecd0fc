package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// fingerprint returns a digest of everything that affects how the agent handles a request. It
// distinguishes requests to an agent that have the same key. The wire format, the order of
// members and the caller's wait time do not count. Neither does the message's id, because
// clients generate a new one for each attempt.
func fingerprint(name task.Agent, r *op.Send, active []string) []byte {
	d := digest{sha256.New()}
	d.texts(string(name), string(r.Message.TaskID), r.Message.ContextID, r.Message.Skill)
	d.text(string(appendMembers(nil, r.Message.Body, "messageId")))
	d.text(string(appendSorted(nil, r.Metadata)))
	d.texts(r.AcceptedOutputModes...)
	active = slices.Sorted(slices.Values(active))
	d.texts(active...)
	if p := r.Push; p != nil {
		d.texts(p.ID, p.URL, p.Token, p.Scheme, p.Credentials)
	}
	if r.Others != nil { // earlier versions ignored them: the digest without any must equal theirs
		d.text(string(appendSorted(nil, r.Others)))
	}
	return d.Sum(nil)
}

// digest is a hash of texts that keeps their boundaries.
type digest struct{ hash.Hash }

func (d digest) text(s string) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	d.Write([]byte(s))
}

func (d digest) texts(list ...string) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(list))))
	for _, s := range list {
		d.text(s)
	}
}

// appendSorted appends valid JSON with the members of objects sorted by name, and all strings
// in the same encoding. Numbers stay unchanged.
func appendSorted(dst, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return appendMembers(dst, v, "")
	case rawjson.Array:
		dst = append(dst, '[')
		for e := range rawjson.Elements(v) {
			dst = append(appendSorted(dst, e), ',')
		}
		return append(dst, ']')
	case rawjson.Text:
		s, _ := rawjson.String(v)
		return rawjson.AppendString(dst, s)
	}
	return append(dst, bytes.TrimSpace(v)...)
}

// appendMembers is appendSorted for an object, without the member of the given name.
func appendMembers(dst, obj []byte, without string) []byte {
	type member struct {
		name  string
		value []byte
	}
	var all []member
	for name, v := range rawjson.Fields(obj) {
		if without == "" || name != without {
			all = append(all, member{name, v})
		}
	}
	// The order of members with the same name counts.
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for _, m := range all {
		dst = append(rawjson.AppendString(dst, m.name), ':')
		dst = append(appendSorted(dst, m.value), ',')
	}
	return append(dst, '}')
}
