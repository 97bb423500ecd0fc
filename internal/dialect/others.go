package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// notEvents are names of top-level objects that servers send besides events.
var notEvents = rawjson.Reserved{
	"error", "result", "jsonrpc", "task", "message", "msg", "statusUpdate", "artifactUpdate", "kind", "status", "artifact", "parts",
}

// otherEvent returns an event of a kind that the protocol does not define, in the form of v1.0:
// wrapped in an object under its name. It returns nil if wire is no such event.
func otherEvent(wire []byte) []byte {
	if kind, _ := rawjson.String(member(wire, "kind")); kind != "" {
		name := camel(kind)
		if notEvents.Has(name) {
			return nil
		}
		out := rawjson.AppendString([]byte{'{'}, name)
		return append(rawjson.AppendCompact(append(out, ':'), without(wire, "kind")), '}')
	}
	objects := 0
	for name, v := range rawjson.Fields(wire) {
		if notEvents.Has(name) {
			return nil
		}
		if rawjson.KindOf(v) == rawjson.Object {
			objects++
		}
	}
	if objects == 0 {
		return nil
	}
	return rawjson.AppendCompact(nil, wire)
}

// camel converts the kind of a v0.3 event to its name in v1.0, such as "messageUpdate".
func camel(kind string) string {
	words := strings.Split(kind, "-")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	if name := strings.Join(words, ""); kebab(name) == kind {
		return name
	}
	return kind
}

// kebab is the inverse of camel.
func kebab(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('-')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// appendBeside appends the members beside the event of a v1.0 StreamResponse.
func appendBeside(dst, wire []byte) []byte {
	var others a2ajson.Others
	for name, v := range rawjson.Fields(wire) {
		if !notEvents.Has(name) && arms[name] == "" {
			others.Add(name, v)
		}
	}
	if b := others.Object(); b != nil {
		dst = append(append(dst, ','), b[1:len(b)-1]...)
	}
	return dst
}
