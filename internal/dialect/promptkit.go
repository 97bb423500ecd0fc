package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// PromptKit writes parts like v1.0, states in snake case, roles as user and agent, and tasks
// and events without a wrapper and without a kind. Its decoder refuses every other spelling of
// a state, and silently drops events that it cannot read.

// promptKitPage is the page size of a call that names none.
const promptKitPage = "100"

// promptKitRequest returns the v1.0 params of a PromptKit call.
func promptKitRequest(o Operation, params []byte) ([]byte, error) {
	switch o {
	case SendMessage, SendStreamingMessage:
		return promptKitSend(params)
	case ListTasks:
		return withArtifacts(pageOf(params, promptKitPage)), nil
	}
	return params, nil
}

// withArtifacts requests the artifacts of listed tasks, as PromptKit's server includes them,
// unless the caller set includeArtifacts.
func withArtifacts(params []byte) []byte {
	if member(params, "includeArtifacts") != nil {
		return params
	}
	return append(appendName(slices.Clone(params[:len(params)-1]), "includeArtifacts"), "true}"...)
}

func promptKitSend(params []byte) ([]byte, error) {
	var err error
	out := rewriteObject(make([]byte, 0, len(params)+32), params, func(dst []byte, name string, v []byte) []byte {
		switch {
		case name == "message" && rawjson.KindOf(v) == rawjson.Object:
			return rewriteObject(dst, v, unwrapParts)
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
// without the field blocks: PromptKit's own executor never polls.
func appendBlocking(dst, configuration []byte) ([]byte, error) {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(configuration) {
		var err error
		switch {
		case name != "blocking":
			dst = append(appendName(dst, name), v...)
		case rawjson.KindOf(v) == rawjson.Null:
			dst = append(appendName(dst, "returnImmediately"), "false"...)
		default:
			dst, err = appendReturn(dst, v)
		}
		if err != nil {
			return dst, a2ajson.Under(name, err)
		}
	}
	return append(dst, '}'), nil
}

// pageOf sets the default page size of a dialect unless the caller names one. It reduces a size
// above the maximum to the maximum.
func pageOf(params []byte, size string) []byte {
	sized := false
	out := rewriteObject(nil, params, func(dst []byte, name string, v []byte) []byte {
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
	return append(append(appendName(out[:len(out)-1], "pageSize"), size...), '}')
}

// promptKitField returns the name of a v1.0 field in the dialects whose calls have "blocking".
func promptKitField(_ Operation, v1 string) string {
	if v1 == "configuration.returnImmediately" {
		return "configuration.blocking"
	}
	return v1
}

// These functions append objects of v1.0.
var (
	promptKitArtifact = members{"parts": listOf(wrapPart)}.append
	promptKitMessage  = members{"role": appendPlainRole, "parts": listOf(wrapPart)}.append
	promptKitStatus   = members{"state": stateName(promptKitState), "message": promptKitMessage}.append
	promptKitChange   = members{"status": promptKitStatus}.append
	promptKitChunk    = members{"artifact": promptKitArtifact}.append
	promptKitTask     = members{"status": promptKitStatus, "artifacts": listOf(promptKitArtifact), "history": listOf(promptKitMessage)}.append
	promptKitTasks    = members{"tasks": listOf(promptKitTask)}.append
)

// promptKitResult appends the result of a call, converted from v1.0.
func promptKitResult(dst []byte, o Operation, v1 []byte) []byte {
	switch o {
	case SendMessage, SendStreamingMessage, SubscribeToTask:
		return promptKitFrame(dst, v1)
	case GetTask, CancelTask:
		return promptKitTask(dst, v1)
	case ListTasks:
		return promptKitTasks(dst, v1)
	}
	return append(dst, v1...)
}

// promptKitFrame appends a SendMessageResponse, or one frame of a stream regardless of the
// frames before it.
func promptKitFrame(dst, v1 []byte) []byte {
	switch name, v := arm(v1); name {
	case "task", "statusUpdate":
		return promptKitTask(dst, v)
	case "artifactUpdate":
		return promptKitChunk(dst, v)
	}
	return promptKitAnswer(dst, v1)
}

// promptKitAnswer appends a bare message as the status of a finished task, because the dialect
// has no bare messages.
func promptKitAnswer(dst, v1 []byte) []byte {
	_, msg := arm(v1)
	context := member(msg, "contextId")
	if context == nil {
		context = []byte(`""`)
	}
	dst = append(append(dst, `{"id":"","contextId":`...), context...)
	dst = promptKitMessage(append(dst, `,"status":{"state":"completed","message":`...), msg)
	return append(dst, "}}"...)
}

// promptKitState returns the name of a v1.0 state, such as "input_required".
func promptKitState(v []byte) string {
	s, _ := rawjson.String(v)
	return strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_"))
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
		dst = append(appendName(dst, name), v...)
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
	return rewriteList(dst, v, readPart)
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
			dst = append(appendName(dst, name), value...)
		case "metadata":
			dst = appendUnwrapped(dst, v)
		default:
			dst = append(appendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}
