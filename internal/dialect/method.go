package dialect

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Operation is one of the protocol's operations. The zero Operation is none.
type Operation uint8

// The operations of v1.0 (specification §5.3).
const (
	SendMessage Operation = iota + 1
	SendStreamingMessage
	GetTask
	ListTasks
	CancelTask
	SubscribeToTask
	CreatePushConfig
	GetPushConfig
	ListPushConfigs
	DeletePushConfig
	GetExtendedAgentCard
	numOperations
)

var methods = [numOperations]string{
	SendMessage:          "SendMessage",
	SendStreamingMessage: "SendStreamingMessage",
	GetTask:              "GetTask",
	ListTasks:            "ListTasks",
	CancelTask:           "CancelTask",
	SubscribeToTask:      "SubscribeToTask",
	CreatePushConfig:     "CreateTaskPushNotificationConfig",
	GetPushConfig:        "GetTaskPushNotificationConfig",
	ListPushConfigs:      "ListTaskPushNotificationConfigs",
	DeletePushConfig:     "DeleteTaskPushNotificationConfig",
	GetExtendedAgentCard: "GetExtendedAgentCard",
}

// operations is the reverse of methods, plus the singular name by which some clients call the
// list of push configs.
var operations = func() map[string]Operation {
	m := map[string]Operation{"ListTaskPushNotificationConfig": ListPushConfigs}
	for o := SendMessage; o < numOperations; o++ {
		m[methods[o]] = o
	}
	return m
}()

// String returns the name of the method, such as "SendMessage".
func (o Operation) String() string {
	if o == 0 || o >= numOperations {
		return fmt.Sprintf("Operation(%d)", uint8(o))
	}
	return methods[o]
}

// Streaming reports whether o answers with a stream.
func (o Operation) Streaming() bool { return o == SendStreamingMessage || o == SubscribeToTask }

// Push reports whether o is about push notification configs.
func (o Operation) Push() bool { return CreatePushConfig <= o && o <= DeletePushConfig }

// Lookup returns the operation that a v1.0 JSON-RPC method calls (specification
// §9.1), or an error wrapping a2a.ErrMethodNotFound.
func Lookup(method string) (Operation, error) {
	if o, ok := operations[method]; ok {
		return o, nil
	}
	return 0, apierror.New(a2a.ErrMethodNotFound, "method not found: %q", clip(method))
}

// clip shortens a caller's text for an error message.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
