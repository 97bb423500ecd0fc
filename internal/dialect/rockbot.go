package dialect

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// RockBot's gateway has the objects of v1.0 with other names for states and roles:
// "inputRequired", "user". A finished task is answered with a message instead.

const rockBotPage = "20"

// rockBotRequest returns the v1.0 params of a call of the gateway.
func rockBotRequest(o Operation, params []byte) ([]byte, error) {
	switch {
	case o.sends():
		return PlainSend(params)
	case o == ListTasks:
		return PageOf(params, rockBotPage), nil
	case o.Push():
		return rockBotPush(params), nil
	}
	return params, nil
}

// rockBotPush returns the v1.0 params of a call about a webhook. The .NET SDK of RockBot's
// gateway nests the config in a member, with its id beside that member.
func rockBotPush(params []byte) []byte {
	config, id := member(params, "config"), member(params, "configId")
	if config == nil {
		config = member(params, "pushNotificationConfig")
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
		beside := member(params, name) != nil || name == "id" && id != nil
		if rawjson.KindOf(v) != rawjson.Null && !beside {
			out = append(rawjson.AppendName(out, name), v...)
		}
	}
	return append(out, '}')
}

// rockBotConfig appends a config twice: flat as in v1.0, and nested as the .NET SDK of
// RockBot's gateway reads it.
func rockBotConfig(dst, c []byte) []byte {
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
	rockBotStatus = rawjson.Members{"state": stateName(rockBotState), "message": PlainMessage}.Append
	rockBotUpdate = rawjson.Members{"status": rockBotStatus, "artifact": PlainArtifact}.Append
	rockBotTask   = rawjson.Members{"status": rockBotStatus, "artifacts": rawjson.ListOf(PlainArtifact), "history": rawjson.ListOf(PlainMessage)}.Append
	rockBotList   = rawjson.Members{"tasks": rawjson.ListOf(rockBotTask), "configs": rawjson.ListOf(rockBotConfig)}.Append
)

// rockBotFrame appends a StreamResponse or a SendMessageResponse.
func rockBotFrame(dst, v1 []byte) []byte {
	return rawjson.RewriteObject(dst, onlyArm(v1), func(dst []byte, name string, v []byte) []byte {
		switch name {
		case "task":
			return rockBotTask(dst, v)
		case "message":
			return PlainMessage(dst, v)
		}
		return rockBotUpdate(dst, v)
	})
}

// rockBotResult appends the result of a call, converted from v1.0.
func rockBotResult(dst []byte, o Operation, v1 []byte) []byte {
	switch o {
	case SendMessage:
		if name, v := rawjson.First(v1); name == "task" && ended(member(member(v, "status"), "state")) {
			return append(rockBotFinal(append(dst, `{"message":`...), v), '}')
		}
		return rockBotFrame(dst, v1)
	case GetTask, CancelTask:
		return rockBotTask(dst, v1)
	case CreatePushConfig, GetPushConfig:
		return rockBotConfig(dst, v1)
	case ListTasks, ListPushConfigs:
		return rockBotList(dst, v1)
	}
	return append(dst, v1...)
}

// rockBotFinal appends the answer of a finished task: the message of its status, or else the name
// of its state.
func rockBotFinal(dst, t []byte) []byte {
	status := member(t, "status")
	if msg := member(status, "message"); msg != nil {
		return PlainMessage(dst, msg)
	}
	dst = rawjson.AppendString(append(dst, `{"messageId":`...), a2a.NewMessageID())
	dst = append(append(dst, `,"contextId":`...), member(t, "contextId")...)
	dst = append(append(dst, `,"taskId":`...), member(t, "id")...)
	dst = rawjson.AppendString(append(dst, `,"role":"agent","parts":[{"text":`...), rockBotState(member(status, "state")))
	return append(dst, "}]}"...)
}

// rockBotState returns the name of a v1.0 state, such as "inputRequired".
func rockBotState(v []byte) string {
	first, second, _ := strings.Cut(StateWord(v), "_")
	if second == "" {
		return first
	}
	return first + strings.ToUpper(second[:1]) + second[1:]
}

// ended reports whether v is the v1.0 name of a terminal state.
func ended(v []byte) bool { return EndsTask(StateWord(v)) }
