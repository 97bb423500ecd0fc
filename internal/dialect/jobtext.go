package dialect

import (
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Jobs have strings where v1.0 allows any JSON: the data of a part is a string of
// JSON, and metadata is a dictionary of strings. Their readers refuse everything else.

// carriedKey is the string member of the metadata of a job that holds the original values of all
// members that are not strings, so that another hub can restore them.
const carriedKey = "parley.carried"

// hubPrefix is the prefix of metadata names that only hubs interpret.
const hubPrefix = "parley."

// notJSON marks a part, in its metadata, whose data was a string without valid JSON.
const notJSON = "data_not_json"

// appendTextMetadata appends metadata as a dictionary of strings. Other values become their
// JSON text, and the originals are kept under carriedKey.
func appendTextMetadata(dst, metadata []byte) []byte {
	if rawjson.KindOf(metadata) != rawjson.Object {
		return append(dst, metadata...)
	}
	var carried []byte
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(metadata) {
		kind := rawjson.KindOf(v)
		if kind == rawjson.Text && name != carriedKey {
			dst = append(rawjson.AppendName(dst, name), v...)
			continue
		}
		if name == carriedKey {
			continue
		}
		if carried == nil {
			carried = []byte{'{'}
		}
		carried = rawjson.AppendCompact(rawjson.AppendName(carried, name), v)
		switch {
		case len(name) > len(hubPrefix) && name[:len(hubPrefix)] == hubPrefix:
		case kind == rawjson.Null:
			dst = append(rawjson.AppendName(dst, name), `""`...)
		default:
			dst = appendHeld(rawjson.AppendName(dst, name), v)
		}
	}
	if carried != nil {
		dst = rawjson.AppendString(rawjson.AppendName(dst, carriedKey), string(append(carried, '}')))
	}
	return append(dst, '}')
}

// untexted returns metadata with its carried members restored. A value under carriedKey that is
// not valid stays a string.
func untexted(metadata []byte) []byte {
	text, ok := rawjson.String(member(metadata, carriedKey))
	carried := []byte(text)
	if !ok || a2ajson.Check(carried, heldDepth) != nil || rawjson.KindOf(carried) != rawjson.Object {
		return metadata
	}
	out := []byte{'{'}
	for name, v := range rawjson.Fields(metadata) {
		if name == carriedKey {
			continue
		}
		if was := member(carried, name); was != nil {
			v = was
		}
		out = append(rawjson.AppendName(out, name), v...)
	}
	for name, v := range rawjson.Fields(carried) {
		if name != carriedKey && member(metadata, name) == nil {
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(out, '}')
}

// heldDepth is the largest nesting depth of JSON in a string.
const heldDepth = 60

// heldJSON returns the JSON in a string, or nil.
func heldJSON(text []byte) []byte {
	s, _ := rawjson.String(text)
	if a2ajson.Check([]byte(s), heldDepth) != nil {
		return nil
	}
	return rawjson.AppendCompact(nil, []byte(s))
}

// appendHeld appends v as a string of JSON.
func appendHeld(dst, v []byte) []byte {
	return rawjson.AppendString(dst, string(rawjson.AppendCompact(nil, v)))
}

// withMark returns the metadata of a part with mark set to true.
func withMark(metadata []byte, mark string) []byte {
	out := rawjson.RewriteObject(nil, metadata, keepValue)
	if member(metadata, mark) != nil {
		return out
	}
	return append(rawjson.AppendName(out[:len(out)-1], mark), "true}"...)
}
