package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// content is the size and the hash of the parts of an artifact that were passed on. Peers split
// text into chunks arbitrarily and join it again in snapshots. Parts with nothing but text
// therefore count as one long text. The zero content is empty.
type content struct {
	size int64
	sum  hash.Hash
}

// partMark precedes a part that has more than text. The byte never occurs in UTF-8.
const partMark = 0xff

// add records that a part was passed on.
func (c *content) add(part []byte) {
	if c.sum == nil {
		c.sum = sha256.New()
	}
	b := flat(part)
	c.sum.Write(b) // never fails
	c.size += int64(len(b))
}

// flat returns the bytes of a part that are counted and hashed.
func flat(part []byte) []byte {
	if text, ok := plainText(part); ok {
		return []byte(text)
	}
	b := binary.AppendUvarint([]byte{partMark}, uint64(len(part)))
	return append(b, part...)
}

// plainText returns the text of a part whose only member is text.
func plainText(part []byte) (text string, ok bool) {
	for name, value := range rawjson.Fields(part) {
		if ok || name != "text" {
			return "", false
		}
		text, ok = rawjson.String(value)
	}
	return text, ok
}

func textPart(text string) []byte {
	return append(rawjson.AppendString([]byte(`{"text":`), text), '}')
}

// Results of comparing a snapshot with the content that was passed on.
const (
	same  = iota // nothing is new
	more         // the snapshot continues the content
	older        // the snapshot is shorter: the peer's snapshots lag behind its stream
	other        // the contents differ
)

// compare compares parts with c; if the verdict is more, rest holds the new parts.
func (c *content) compare(parts [][]byte) (verdict int, rest [][]byte) {
	h, left := sha256.New(), c.size
	for i, part := range parts {
		b := flat(part)
		if int64(len(b)) <= left {
			h.Write(b)
			left -= int64(len(b))
			continue
		}
		h.Write(b[:left])
		switch {
		case !c.equals(h), left > 0 && b[0] == partMark:
			return other, nil
		case left > 0:
			rest = append(rest, textPart(string(b[left:])))
		default:
			rest = append(rest, part)
		}
		return more, append(rest, parts[i+1:]...)
	}
	switch {
	case left > 0:
		return older, nil
	case !c.equals(h):
		return other, nil
	}
	return same, nil
}

func (c *content) equals(h hash.Hash) bool {
	return c.size == 0 || bytes.Equal(c.sum.Sum(nil), h.Sum(nil))
}

// traits are the members of an artifact beside its parts, including those of its metadata, as
// they were passed on.
type traits map[string]string

// traitsOf returns the members of an artifact and its parts.
func traitsOf(artifact []byte) (t traits, parts [][]byte) {
	for name, value := range rawjson.Fields(artifact) {
		switch name {
		case "artifactId":
		case "parts":
			for part := range rawjson.Elements(value) {
				parts = append(parts, part)
			}
		case "metadata":
			t = t.merge("metadata.", value)
		default:
			t = t.set(name, value)
		}
	}
	return t, parts
}

func (t traits) set(name string, value []byte) traits {
	if t == nil {
		t = make(traits)
	}
	t[name] = string(value)
	return t
}

// merge sets the members of an object, with a prefix to their names.
func (t traits) merge(prefix string, obj []byte) traits {
	for name, value := range rawjson.Fields(obj) {
		t = t.set(prefix+name, value)
	}
	return t
}

// has reports whether all members of u were passed on.
func (t traits) has(u traits) bool {
	for name, value := range u {
		if had, ok := t[name]; !ok || had != value {
			return false
		}
	}
	return true
}

// and returns t with the members of u.
func (t traits) and(u traits) traits {
	if t == nil {
		return u
	}
	maps.Copy(t, u)
	return t
}
