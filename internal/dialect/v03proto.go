package dialect

import (
	"encoding/base64"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// The proto of v0.3 has the wrappers and the names of v1.0 except for parts, one state, and
// push notification configs. Parts are the content of a message and hold files and data in
// nested objects. Push notification configs have resource names. Some readers refuse unknown
// members, so no others are written.

// protoResult appends the result of a call, converted from v1.0.
func protoResult(dst []byte, o Operation, v1 []byte) []byte {
	switch o {
	case SendMessage:
		return protoFrame(dst, v1)
	case GetTask, CancelTask:
		return protoTask(dst, v1)
	case CreatePushConfig, GetPushConfig:
		return protoPushConfig(dst, v1)
	case ListPushConfigs:
		return rawjson.RewriteObject(dst, v1, rawjson.Members{"configs": rawjson.ListOf(protoPushConfig)}.Value)
	}
	return append(dst, v1...)
}

// protoFrames returns the single event for a v1.0 frame, or none if the proto has no such
// event.
func protoFrames(v1 []byte) [][]byte {
	if name, _ := rawjson.First(v1); arms[name] == "" {
		return nil
	}
	return [][]byte{protoFrame(make([]byte, 0, len(v1)+64), v1)}
}

// protoFrame appends a SendMessageResponse or a StreamResponse.
func protoFrame(dst, v1 []byte) []byte {
	return protoFrameMembers.Append(dst, onlyArm(v1))
}

// These functions append the members of objects that the proto defines.
var (
	protoStatus   = rawjson.Members{"state": protoState, "message": protoMessage, "timestamp": keep}.Only
	protoArtifact = rawjson.Members{
		"artifactId": keep, "name": keep, "description": keep, "metadata": keep, "extensions": keep, "parts": rawjson.ListOf(protoPart),
	}.Only
	protoTask = rawjson.Members{
		"id": keep, "contextId": keep, "metadata": keep, "status": protoStatus,
		"artifacts": rawjson.ListOf(protoArtifact), "history": rawjson.ListOf(protoMessage),
	}.Only
	protoStatusUpdate = rawjson.Members{
		"taskId": keep, "contextId": keep, "metadata": keep,
		"status": func(dst, v []byte) []byte { return appendFinal(protoStatus(dst, v), v) },
	}.Only
	protoArtifactUpdate = rawjson.Members{
		"taskId": keep, "contextId": keep, "metadata": keep, "append": keep, "lastChunk": keep, "artifact": protoArtifact,
	}.Only
	protoFrameMembers = rawjson.Members{
		"task": protoTask, "message": protoMessage, "statusUpdate": protoStatusUpdate, "artifactUpdate": protoArtifactUpdate,
	}
)

// protoState appends a state. Only the canceled state has another spelling.
func protoState(dst, v []byte) []byte {
	if isText(v, "TASK_STATE_CANCELED") {
		return append(dst, `"TASK_STATE_CANCELLED"`...)
	}
	return append(dst, v...)
}

// protoMessage appends a message. Its parts are called content, and it cannot refer to other
// tasks.
func protoMessage(dst, msg []byte) []byte {
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(msg) {
		switch name {
		case "messageId", "contextId", "taskId", "role", "metadata", "extensions":
			dst = append(rawjson.AppendName(dst, name), v...)
		case "parts":
			dst = rawjson.RewriteList(rawjson.AppendName(dst, "content"), v, protoPart)
		}
	}
	return append(dst, '}')
}

func protoPart(dst, part []byte) []byte {
	name, _ := contentOf(part)
	if name == "data" {
		part = wrapPart(nil, part)
	}
	dst = append(dst, '{')
	switch v := member(part, name); name {
	case "raw", "url":
		dst = protoFile(rawjson.AppendName(dst, "file"), name, part)
	case "data":
		dst = append(append(append(dst, `"data":{"data":`...), v...), '}')
	case "text":
		dst = append(rawjson.AppendName(dst, "text"), v...)
	}
	if metadata := member(part, "metadata"); metadata != nil {
		dst = append(rawjson.AppendName(dst, "metadata"), metadata...)
	}
	return append(dst, '}')
}

func protoFile(dst []byte, content string, part []byte) []byte {
	v := member(part, content)
	if content == "url" {
		dst = append(append(dst, `{"fileWithUri":`...), v...)
	} else {
		dst = append(appendBase64Twice(append(dst, `{"fileWithBytes":"`...), v), '"')
	}
	if v := member(part, "mediaType"); v != nil {
		dst = append(rawjson.AppendName(dst, "mimeType"), v...)
	}
	if v := member(part, "filename"); v != nil {
		dst = append(rawjson.AppendName(dst, "name"), v...)
	}
	return append(dst, '}')
}

// appendBase64Twice appends the base64 of a string that already is base64. The SDKs of v0.3 put
// the base64 string of JSON-RPC into the bytes field of the proto, which ProtoJSON encodes
// again. They accept no other encoding.
func appendBase64Twice(dst, v []byte) []byte {
	s, _ := rawjson.String(v)
	return base64.StdEncoding.AppendEncode(dst, []byte(s))
}

// protoPushConfig appends a TaskPushNotificationConfig.
func protoPushConfig(dst, c []byte) []byte {
	task, _ := rawjson.String(member(c, "taskId"))
	id, _ := rawjson.String(member(c, "id"))
	dst = rawjson.AppendString(append(dst, `{"name":`...), taskPrefix+task+configsInfix+id)
	return append(legacyPushConfig(append(dst, `,"pushNotificationConfig":`...), c), '}')
}
