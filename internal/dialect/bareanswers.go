package dialect

import (
	"slices"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// withMessage returns an answer whose message is a text with a message that has the text.
// Some servers of v0.3 declare the message of a result as a text.
func withMessage(wire []byte) []byte {
	text := member(wire, "message")
	if rawjson.KindOf(text) != rawjson.Text || member(wire, "kind") != nil || member(member(wire, "status"), "message") != nil {
		return wire
	}
	out := []byte{'{'}
	for name, v := range rawjson.Fields(wire) {
		if name == "message" {
			v = slices.Concat([]byte(`{"role":"agent","parts":[{"kind":"text","text":`), text, []byte(`}]}`))
		}
		out = append(rawjson.AppendName(out, name), v...)
	}
	return append(out, '}')
}

// withState returns a status that is a text with the text as its state.
func withState(status []byte) []byte {
	if rawjson.KindOf(status) != rawjson.Text {
		return status
	}
	return slices.Concat([]byte(`{"state":`), status, []byte{'}'})
}

// nameless reports whether a task has no id but an answer. A dialect without bare messages
// writes a message in this form.
func nameless(t []byte) bool {
	id := member(t, "id")
	return (id == nil || isText(id, "")) && rawjson.KindOf(member(withReply(withState(member(t, "status")), member(t, "message")), "message")) == rawjson.Object
}

// isReply reports whether v, a member of a task, is a message.
func isReply(v []byte) bool { return member(v, "parts") != nil }

// withReply returns a status with the message that is beside it in the task, unless the status
// has one itself. Some servers of v0.3 put the reply there.
func withReply(status, reply []byte) []byte {
	if !isReply(reply) || rawjson.KindOf(status) != rawjson.Object || rawjson.KindOf(member(status, "message")) == rawjson.Object {
		return status
	}
	out := []byte{'{'}
	for name, v := range rawjson.Fields(status) {
		if name != "message" {
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(append(rawjson.AppendName(out, "message"), reply...), '}')
}
