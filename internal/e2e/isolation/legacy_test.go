package isolation

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// has reports whether the binding can express a call. v0.3 has no list of tasks, and its
// webhooks do not name their task.
func (b *binding) has(r *call) bool {
	return b.name != overLegacyGRPC || r.method != "ListTasks" && !strings.Contains(r.params, `{"taskPushNotificationConfig":{"taskId"`)
}

// legacyMethods maps methods to their different names in v0.3.
var legacyMethods = map[string]string{
	"SubscribeToTask":                 "TaskSubscription",
	"ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig",
	"GetExtendedAgentCard":            "GetAgentCard",
}

var legacyShapes = map[string]shape{
	"SendMessage":                      {in: msg[pb0.SendMessageRequest], out: msg[pb0.SendMessageResponse]},
	"SendStreamingMessage":             {in: msg[pb0.SendMessageRequest], out: msg[pb0.StreamResponse], stream: true},
	"GetTask":                          {in: msg[pb0.GetTaskRequest], out: msg[pb0.Task]},
	"CancelTask":                       {in: msg[pb0.CancelTaskRequest], out: msg[pb0.Task]},
	"TaskSubscription":                 {in: msg[pb0.TaskSubscriptionRequest], out: msg[pb0.StreamResponse], stream: true},
	"CreateTaskPushNotificationConfig": {in: msg[pb0.CreateTaskPushNotificationConfigRequest], out: msg[pb0.TaskPushNotificationConfig]},
	"GetTaskPushNotificationConfig":    {in: msg[pb0.GetTaskPushNotificationConfigRequest], out: msg[pb0.TaskPushNotificationConfig]},
	"ListTaskPushNotificationConfig":   {in: msg[pb0.ListTaskPushNotificationConfigRequest], out: msg[pb0.ListTaskPushNotificationConfigResponse]},
	"DeleteTaskPushNotificationConfig": {in: msg[pb0.DeleteTaskPushNotificationConfigRequest], out: msg[emptypb.Empty]},
	"GetAgentCard":                     {in: msg[pb0.GetAgentCardRequest], out: msg[pb0.AgentCard]},
}

// legacyOverGRPC makes a call of gRPC of v0.3 with the params of JSON-RPC of v1.0.
func (h *hub) legacyOverGRPC(c *caller, r call) answer {
	h.t.Helper()
	var params map[string]any
	if err := json.Unmarshal([]byte(r.params), &params); err != nil {
		h.t.Fatalf("params %s: %v", r.params, err)
	}
	b, err := json.Marshal(legacyParams(r.method, params))
	if err != nil {
		h.t.Fatal(err)
	}
	r.params = string(b)
	if name, other := legacyMethods[r.method]; other {
		r.method = name
	}
	return h.callOverGRPC(c, "a2a.v1.A2AService", r)
}

// object is a JSON object.
type object = map[string]any

func legacyParams(method string, p object) object {
	name := func(member string) string { s, _ := p[member].(string); return s }
	switch {
	case strings.HasPrefix(method, "Send"):
		return legacySend(p)
	case method == "ListTaskPushNotificationConfigs":
		out := object{"parent": "tasks/" + name("taskId")}
		for _, same := range []string{"pageSize", "pageToken"} {
			if p[same] != nil {
				out[same] = p[same]
			}
		}
		return out
	case method == "CreateTaskPushNotificationConfig":
		return object{"parent": "tasks/" + name("taskId"), "config": object{"pushNotificationConfig": legacyConfig(p)}}
	case strings.HasSuffix(method, "PushNotificationConfig"):
		return object{"name": "tasks/" + name("taskId") + "/pushNotificationConfigs/" + name("id")}
	case method == "GetExtendedAgentCard":
		return object{}
	}
	out := object{"name": "tasks/" + name("id")}
	if n := p["historyLength"]; n != nil {
		out["historyLength"] = n
	}
	return out
}

func legacySend(p object) object {
	message := p["message"].(object)
	for i, part := range message["parts"].([]any) {
		message["parts"].([]any)[i] = legacyPart(part.(object))
	}
	configuration, _ := p["configuration"].(object)
	now, _ := configuration["returnImmediately"].(bool)
	settings := object{"blocking": !now}
	if c, _ := configuration["taskPushNotificationConfig"].(object); c != nil {
		settings["pushNotification"] = legacyConfig(c)
	}
	out := object{"message": message, "configuration": settings}
	if p["metadata"] != nil {
		out["metadata"] = p["metadata"]
	}
	return out
}

func legacyPart(part object) object {
	file := object{"name": part["filename"], "mimeType": part["mediaType"]}
	switch {
	case part["raw"] != nil: // bytes contain base64 in v0.3
		file["fileWithBytes"] = base64.StdEncoding.EncodeToString([]byte(part["raw"].(string)))
		return object{"file": file}
	case part["url"] != nil:
		file["fileWithUri"] = part["url"]
		return object{"file": file}
	case part["data"] != nil:
		return object{"data": object{"data": part["data"]}}
	}
	return part
}

func legacyConfig(p object) object {
	out := object{"id": p["id"], "url": p["url"], "token": p["token"]}
	if a, _ := p["authentication"].(object); a != nil {
		out["authentication"] = object{"schemes": []any{a["scheme"]}, "credentials": a["credentials"]}
	}
	return out
}
