package dialect

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// notEvents are names of what servers send that is no event.
var notEvents = rawjson.Reserved{
	"error", "result", "jsonrpc", "task", "message", "msg", "statusUpdate", "artifactUpdate", "kind", "status", "artifact", "parts",
}

// otherEvent returns an event that the protocol does not have, in the form of v1.0: with a
// name around it. It is nil if there is none.
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

// camel returns the name that the kind of an event of v0.3 has in v1.0, such as
// "messageUpdate".
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

// kebab is the other direction of camel.
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

// appendBeside appends what stands beside the event of a StreamResponse of v1.0.
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
