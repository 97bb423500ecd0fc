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

// fingerprint returns what tells requests to an agent apart that have the same key: a
// digest of all that decides what the agent does. The wire, the order of members and
// how long the caller wants to wait do not count, nor does the message's id, which
// clients make anew for each try.
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
	if r.Others != nil { // earlier versions did not count them: without any, the digest is theirs
		d.text(string(appendSorted(nil, r.Others)))
	}
	return d.Sum(nil)
}

// digest is a hash of texts that keeps them apart.
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

// appendSorted appends valid JSON with the members of objects in the order of their
// names, and every string written in the same way. Numbers stay as they are.
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
	// Of members with the same name the order counts.
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for _, m := range all {
		dst = append(rawjson.AppendString(dst, m.name), ':')
		dst = append(appendSorted(dst, m.value), ',')
	}
	return append(dst, '}')
}
