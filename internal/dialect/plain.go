package dialect

import (
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Several dialects of parts are plain: they have the parts of v1.0 without kinds, the roles user and agent, and
// data that is an object.

// PlainSend returns the v1.0 params of a send, which may have "blocking".
func PlainSend(params []byte) ([]byte, error) {
	var err error
	out := rawjson.RewriteObject(make([]byte, 0, len(params)+32), params, func(dst []byte, name string, v []byte) []byte {
		switch {
		case name == "message" && rawjson.KindOf(v) == rawjson.Object:
			return rawjson.RewriteObject(dst, v, unwrapParts)
		case name == "configuration" && rawjson.KindOf(v) == rawjson.Object:
			var problem error
			if dst, problem = appendBlocking(dst, v); problem != nil {
				err = a2ajson.Under(name, problem)
			}
			return dst
		}
		return append(dst, v...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// appendBlocking appends a configuration with returnImmediately instead of blocking. A call
// without the field blocks: clients of these dialects do not poll.
func appendBlocking(dst, configuration []byte) ([]byte, error) {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(configuration) {
		var err error
		switch {
		case name != "blocking":
			dst = append(rawjson.AppendName(dst, name), v...)
		case rawjson.KindOf(v) == rawjson.Null:
			dst = append(rawjson.AppendName(dst, "returnImmediately"), "false"...)
		default:
			dst, err = appendReturn(dst, v)
		}
		if err != nil {
			return dst, a2ajson.Under(name, err)
		}
	}
	return append(dst, '}'), nil
}

// PageOf sets the default page size of a dialect unless the caller names one. It reduces a size
// above the maximum to the maximum.
func PageOf(params []byte, size string) []byte {
	sized := false
	out := rawjson.RewriteObject(nil, params, func(dst []byte, name string, v []byte) []byte {
		if name != "pageSize" {
			return append(dst, v...)
		}
		sized = true
		switch n, err := a2ajson.ReadInt(v); {
		case err == nil && n == 0 || rawjson.KindOf(v) == rawjson.Null:
			return append(dst, size...)
		case err == nil && n > maxPageSize:
			return strconv.AppendInt(dst, maxPageSize, 10)
		}
		return append(dst, v...)
	})
	if sized {
		return out
	}
	return append(append(rawjson.AppendName(out[:len(out)-1], "pageSize"), size...), '}')
}

// PlainField returns the name of a v1.0 field in the dialects whose calls have "blocking".
func PlainField(_ Operation, v1 string) string {
	if v1 == "configuration.returnImmediately" {
		return "configuration.blocking"
	}
	return v1
}

var (
	plainArtifact = rawjson.Members{"parts": rawjson.ListOf(wrapPart)}.Append
	plainMessage  = rawjson.Members{"role": appendPlainRole, "parts": rawjson.ListOf(wrapPart)}.Append
)

// PlainArtifact appends a v1.0 artifact.
func PlainArtifact(dst, v1 []byte) []byte { return plainArtifact(dst, v1) }

// PlainMessage appends a v1.0 message.
func PlainMessage(dst, v1 []byte) []byte { return plainMessage(dst, v1) }

// StateWord returns the name of a v1.0 state, such as "input_required".
func StateWord(v []byte) string {
	s, _ := rawjson.String(v)
	return strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_"))
}

// EndsTask reports whether a state, as StateWord returns it, is terminal.
func EndsTask(state string) bool {
	switch state {
	case "completed", "failed", "canceled", "rejected":
		return true
	}
	return false
}

// appendPlainRole appends a v1.0 role as "user" or "agent".
func appendPlainRole(dst, role []byte) []byte {
	if isText(role, "ROLE_USER") {
		return append(dst, `"user"`...)
	}
	return append(dst, `"agent"`...)
}

// dataCompat is the member of a part's metadata which marks data that was wrapped in an object,
// because readers of the dialect accept no other data.
const dataCompat = "data_part_compat"

// wrapPart appends a part. Data that is not an object becomes the value of one.
func wrapPart(dst, part []byte) []byte {
	data := member(part, "data")
	if data == nil || rawjson.KindOf(data) == rawjson.Object {
		return append(dst, part...)
	}
	dst = append(append(append(dst, `{"data":{"value":`...), data...), '}')
	metadata := false
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "data":
			continue
		case "metadata":
			metadata = true
			v = withMark(v, dataCompat)
		}
		dst = append(rawjson.AppendName(dst, name), v...)
	}
	if !metadata {
		dst = append(dst, `,"metadata":{"`+dataCompat+`":true}`...)
	}
	return append(dst, '}')
}

// unwrapParts rewrites the members of a message and reverses wrapPart.
func unwrapParts(dst []byte, name string, v []byte) []byte {
	if name != "parts" || rawjson.KindOf(v) != rawjson.Array {
		return append(dst, v...)
	}
	return rawjson.RewriteList(dst, v, readPart)
}

// readPart appends a part of a caller. The result of a tool that the caller has executed may be
// metadata alone; it gets an empty text, because v1.0 requires content.
func readPart(dst, part []byte) []byte {
	for _, name := range []string{"text", "raw", "url", "data"} {
		if member(part, name) != nil {
			return unwrapPart(dst, part)
		}
	}
	if metadata := member(part, "metadata"); metadata == nil || member(metadata, "tool_call_id") == nil {
		return append(dst, part...)
	}
	dst = append(dst, `{"text":""`...)
	for name, v := range rawjson.Fields(part) {
		dst = append(append(rawjson.AppendString(append(dst, ','), name), ':'), v...)
	}
	return append(dst, '}')
}

func unwrapPart(dst, part []byte) []byte {
	value := compatValue(member(part, "data"), member(part, "metadata"))
	if value == nil {
		return append(dst, part...)
	}
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "data":
			dst = append(rawjson.AppendName(dst, name), value...)
		case "metadata":
			dst = appendUnwrapped(dst, v)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}
