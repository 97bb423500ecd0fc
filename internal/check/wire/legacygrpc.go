package wire

import (
	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// legacyService is the gRPC service of v0.3.
const legacyService = "/a2a.v1.A2AService/"

// legacyNames are the gRPC methods of v0.3.
var legacyNames = map[Op]string{
	LegacySend: "SendMessage", LegacyStream: "SendStreamingMessage", LegacyGet: "GetTask", LegacyCancel: "CancelTask",
	LegacySubscribe: "TaskSubscription", LegacyCreatePush: "CreateTaskPushNotificationConfig",
	LegacyGetPush: "GetTaskPushNotificationConfig", LegacyListPush: "ListTaskPushNotificationConfig",
	LegacyDeletePush: "DeleteTaskPushNotificationConfig",
}

var legacyMethods = map[Op]method{
	LegacySend:       {message[pb0.SendMessageRequest], message[pb0.SendMessageResponse]},
	LegacyStream:     {message[pb0.SendMessageRequest], message[pb0.StreamResponse]},
	LegacyGet:        {message[pb0.GetTaskRequest], message[pb0.Task]},
	LegacyCancel:     {message[pb0.CancelTaskRequest], message[pb0.Task]},
	LegacySubscribe:  {message[pb0.TaskSubscriptionRequest], message[pb0.StreamResponse]},
	LegacyCreatePush: {message[pb0.CreateTaskPushNotificationConfigRequest], message[pb0.TaskPushNotificationConfig]},
	LegacyGetPush:    {message[pb0.GetTaskPushNotificationConfigRequest], message[pb0.TaskPushNotificationConfig]},
	LegacyListPush:   {message[pb0.ListTaskPushNotificationConfigRequest], message[pb0.ListTaskPushNotificationConfigResponse]},
	LegacyDeletePush: {message[pb0.DeleteTaskPushNotificationConfigRequest], message[emptypb.Empty]},
}

// path returns the full method name of an operation.
func (c *grpcCaller) path(o Op) string {
	if c.iface.inProto() {
		return legacyService + legacyNames[o]
	}
	return service + string(o)
}

// method returns the messages of an operation.
func (c *grpcCaller) method(o Op) (method, bool) {
	from := methods
	if c.iface.inProto() {
		from = legacyMethods
	}
	m, ok := from[o]
	return m, ok
}
