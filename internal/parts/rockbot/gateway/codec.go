package gateway

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// RockBot's gateway has the objects of v1.0 with other names for states and roles:
// "inputRequired", "user". A finished task is answered with a message instead.

const pageSize = "20"

// request returns the v1.0 params of a call of the gateway.
func request(o dialect.Operation, params []byte) ([]byte, error) {
	switch {
	case o == dialect.SendMessage || o == dialect.SendStreamingMessage:
		return dialect.PlainSend(params)
	case o == dialect.ListTasks:
		return dialect.PageOf(params, pageSize), nil
	case o.Push():
		return pushParams(params), nil
	}
	return params, nil
}

// pushParams returns the v1.0 params of a call about a webhook. The .NET SDK of RockBot's
// gateway nests the config in a member, with its id beside that member.
func pushParams(params []byte) []byte {
	config, id := rawjson.Member(params, "config"), rawjson.Member(params, "configId")
	if config == nil {
		config = rawjson.Member(params, "pushNotificationConfig")
	}
	if rawjson.KindOf(config) != rawjson.Object && id == nil {
		return params
	}
	out := []byte{'{'}
	for name, v := range rawjson.Fields(params) {
		switch name {
		case "config", "pushNotificationConfig":
		case "configId":
			out = append(rawjson.AppendName(out, "id"), v...)
		default:
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	for name, v := range rawjson.Fields(config) {
		beside := rawjson.Member(params, name) != nil || name == "id" && id != nil
		if rawjson.KindOf(v) != rawjson.Null && !beside {
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(out, '}')
}

// appendConfig appends a config twice: flat as in v1.0, and nested as the .NET SDK of
// RockBot's gateway reads it.
func appendConfig(dst, c []byte) []byte {
	if len(c) < 2 || c[len(c)-1] != '}' {
		return append(dst, c...)
	}
	dst = append(append(dst, c[:len(c)-1]...), `,"pushNotificationConfig":{`...)
	for name, v := range rawjson.Fields(c) {
		if name != "taskId" && name != "tenant" {
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, "}}"...)
}

// These functions append objects of v1.0.
var (
	appendStatus = rawjson.Members{"state": appendState, "message": dialect.PlainMessage}.Append
	appendUpdate = rawjson.Members{"status": appendStatus, "artifact": dialect.PlainArtifact}.Append
	appendTask   = rawjson.Members{"status": appendStatus, "artifacts": rawjson.ListOf(dialect.PlainArtifact), "history": rawjson.ListOf(dialect.PlainMessage)}.Append
	appendList   = rawjson.Members{"tasks": rawjson.ListOf(appendTask), "configs": rawjson.ListOf(appendConfig)}.Append
)

// appendFrame appends a StreamResponse or a SendMessageResponse.
func appendFrame(dst, v1 []byte) []byte {
	return rawjson.RewriteObject(dst, onlyEvent(v1), func(dst []byte, name string, v []byte) []byte {
		switch name {
		case "task":
			return appendTask(dst, v)
		case "message":
			return dialect.PlainMessage(dst, v)
		}
		return appendUpdate(dst, v)
	})
}

// appendResult appends the result of a call, converted from v1.0.
func appendResult(dst []byte, o dialect.Operation, v1 []byte) []byte {
	switch o {
	case dialect.SendMessage:
		if name, v := rawjson.First(v1); name == "task" && ended(rawjson.Member(rawjson.Member(v, "status"), "state")) {
			return append(appendFinal(append(dst, `{"message":`...), v), '}')
		}
		return appendFrame(dst, v1)
	case dialect.GetTask, dialect.CancelTask:
		return appendTask(dst, v1)
	case dialect.CreatePushConfig, dialect.GetPushConfig:
		return appendConfig(dst, v1)
	case dialect.ListTasks, dialect.ListPushConfigs:
		return appendList(dst, v1)
	}
	return append(dst, v1...)
}

// appendFinal appends the answer of a finished task: the message of its status, or else the name
// of its state.
func appendFinal(dst, t []byte) []byte {
	status := rawjson.Member(t, "status")
	if msg := rawjson.Member(status, "message"); msg != nil {
		return dialect.PlainMessage(dst, msg)
	}
	dst = rawjson.AppendString(append(dst, `{"messageId":`...), a2a.NewMessageID())
	dst = append(append(dst, `,"contextId":`...), rawjson.Member(t, "contextId")...)
	dst = append(append(dst, `,"taskId":`...), rawjson.Member(t, "id")...)
	dst = rawjson.AppendString(append(dst, `,"role":"agent","parts":[{"text":`...), stateName(rawjson.Member(status, "state")))
	return append(dst, "}]}"...)
}

// stateName returns the name of a v1.0 state, such as "inputRequired".
func stateName(v []byte) string {
	first, second, _ := strings.Cut(dialect.StateWord(v), "_")
	if second == "" {
		return first
	}
	return first + strings.ToUpper(second[:1]) + second[1:]
}

// ended reports whether v is the v1.0 name of a terminal state.
func ended(v []byte) bool { return dialect.EndsTask(dialect.StateWord(v)) }

func appendState(dst, v1 []byte) []byte { return rawjson.AppendString(dst, stateName(v1)) }

// onlyEvent returns a StreamResponse without the members beside its event.
func onlyEvent(v1 []byte) []byte {
	name, v := rawjson.First(v1)
	return append(append(rawjson.AppendName([]byte{'{'}, name), v...), '}')
}
