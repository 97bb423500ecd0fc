package promptkit

import (
	"slices"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// PromptKit writes parts like v1.0, states in snake case, roles as user and agent, and tasks
// and events without a wrapper and without a kind. Its decoder refuses every other spelling of
// a state, and silently drops events that it cannot read.

// pageSize is the page size of a call that names none.
const pageSize = "100"

// request returns the v1.0 params of a PromptKit call.
func request(o dialect.Operation, params []byte) ([]byte, error) {
	switch o {
	case dialect.SendMessage, dialect.SendStreamingMessage:
		return dialect.PlainSend(params)
	case dialect.ListTasks:
		return withArtifacts(dialect.PageOf(params, pageSize)), nil
	}
	return params, nil
}

// withArtifacts requests the artifacts of listed tasks, as PromptKit's server includes them,
// unless the caller set includeArtifacts.
func withArtifacts(params []byte) []byte {
	if rawjson.Member(params, "includeArtifacts") != nil {
		return params
	}
	return append(rawjson.AppendName(slices.Clone(params[:len(params)-1]), "includeArtifacts"), "true}"...)
}

// These functions append objects of v1.0.
var (
	appendStatus = rawjson.Members{"state": appendState, "message": dialect.PlainMessage}.Append
	appendChange = rawjson.Members{"status": appendStatus}.Append
	appendChunk  = rawjson.Members{"artifact": dialect.PlainArtifact}.Append
	appendTask   = rawjson.Members{"status": appendStatus, "artifacts": rawjson.ListOf(dialect.PlainArtifact), "history": rawjson.ListOf(dialect.PlainMessage)}.Append
	appendTasks  = rawjson.Members{"tasks": rawjson.ListOf(appendTask)}.Append
)

// appendResult appends the result of a call, converted from v1.0.
func appendResult(dst []byte, o dialect.Operation, v1 []byte) []byte {
	switch o {
	case dialect.SendMessage, dialect.SendStreamingMessage, dialect.SubscribeToTask:
		return appendFrame(dst, v1)
	case dialect.GetTask, dialect.CancelTask:
		return appendTask(dst, v1)
	case dialect.ListTasks:
		return appendTasks(dst, v1)
	}
	return append(dst, v1...)
}

// appendFrame appends a SendMessageResponse, or one frame of a stream regardless of the
// frames before it.
func appendFrame(dst, v1 []byte) []byte {
	switch name, v := rawjson.First(v1); name {
	case "task", "statusUpdate":
		return appendTask(dst, v)
	case "artifactUpdate":
		return appendChunk(dst, v)
	}
	return appendAnswer(dst, v1)
}

// appendAnswer appends a bare message as the status of a finished task, because the dialect
// has no bare messages.
func appendAnswer(dst, v1 []byte) []byte {
	_, msg := rawjson.First(v1)
	context := rawjson.Member(msg, "contextId")
	if context == nil {
		context = []byte(`""`)
	}
	dst = append(append(dst, `{"id":"","contextId":`...), context...)
	dst = dialect.PlainMessage(append(dst, `,"status":{"state":"completed","message":`...), msg)
	return append(dst, "}}"...)
}

func appendState(dst, v1 []byte) []byte { return rawjson.AppendString(dst, dialect.StateWord(v1)) }
