package dialect_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
)

func TestLegacyMessage(t *testing.T) {
	t.Parallel()
	const hi = `"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`
	for _, tt := range []struct {
		name     string
		o        dialect.Operation
		in, want string
	}{
		{"message", dialect.SendMessage, `{` + hi + `}`, `{` + hi + `}`},
		{"content", dialect.SendMessage, `{` + protoHi + `,"tenant":"a"}`, `{` + hi + `,"tenant":"a"}`},
		// Protocol buffers do not distinguish false from absent.
		{
			"does not wait", dialect.SendStreamingMessage, `{` + hi + `,"configuration":{"acceptedOutputModes":["x"]}}`,
			`{` + hi + `,"configuration":{"acceptedOutputModes":["x"],"returnImmediately":true}}`,
		},
		{"waits", dialect.SendMessage, `{` + hi + `,"configuration":{"blocking":true}}`, `{` + hi + `,"configuration":{"returnImmediately":false}}`},
		{"get", dialect.GetTask, `{"name":"tasks/t","historyLength":2}`, `{"id":"t","historyLength":2}`},
		{"get, zero is none", dialect.GetTask, `{"tenant":"a","name":"tasks/a/b:c","historyLength":0}`, `{"id":"a/b:c","tenant":"a"}`},
		{"cancel", dialect.CancelTask, `{"name":"tasks/t"}`, `{"id":"t"}`},
		{"subscribe", dialect.SubscribeToTask, `{"name":"tasks/t"}`, `{"id":"t"}`},
		{"card", dialect.GetExtendedAgentCard, `{"tenant":"a"}`, `{"tenant":"a"}`},
		{"no card", dialect.GetExtendedAgentCard, `{}`, `{}`},
		{"get config", dialect.GetPushConfig, `{"name":"tasks/t/pushNotificationConfigs/c/1"}`, `{"taskId":"t","id":"c/1"}`},
		{"delete config", dialect.DeletePushConfig, `{"name":"tasks/t/pushNotificationConfigs/c"}`, `{"taskId":"t","id":"c"}`},
		{"list configs", dialect.ListPushConfigs, `{"parent":"tasks/t","pageSize":2,"pageToken":"k"}`, `{"taskId":"t","pageSize":2,"pageToken":"k"}`},
		{
			"set config", dialect.CreatePushConfig,
			`{"tenant":"a","parent":"tasks/t","configId":"c","config":{"name":"x","pushNotificationConfig":{"url":"u","token":"k"}}}`,
			`{"taskId":"t","tenant":"a","id":"c","url":"u","token":"k"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := filler.LegacyMessage(tt.o, []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, "params", tt.want, string(got))
		})
	}
}

func TestLegacyMessageErrors(t *testing.T) {
	t.Parallel()
	const task, config = "name: must be like tasks/{id}", "name: must be like tasks/{id}/pushNotificationConfigs/{id}"
	for _, tt := range []struct {
		o        dialect.Operation
		in, want string
	}{
		{dialect.GetTask, `{}`, task},
		{dialect.GetTask, `{"name":"t"}`, task},
		{dialect.GetTask, `{"name":"tasks/"}`, task},
		{dialect.CancelTask, `{"name":1}`, task},
		{dialect.SubscribeToTask, `{"name":"Tasks/t"}`, task},
		{dialect.GetPushConfig, `{"name":"tasks/t"}`, config},
		{dialect.GetPushConfig, `{"name":"tasks//pushNotificationConfigs/c"}`, config},
		{dialect.DeletePushConfig, `{"name":"tasks/t/pushNotificationConfigs/"}`, config},
		{dialect.ListPushConfigs, `{"name":"tasks/t"}`, "parent: must be like tasks/{id}"},
		{dialect.CreatePushConfig, `{"parent":"t"}`, "parent: must be like tasks/{id}"},
		{dialect.SendMessage, `{"message":{"role":1},"configuration":{"blocking":1}}`, "configuration.blocking: must be true or false"},
	} {
		_, err := filler.LegacyMessage(tt.o, []byte(tt.in))
		if err == nil || dialect.V03Proto.Blame(tt.o, err).Error() != tt.want {
			t.Errorf("LegacyMessage(%v, %s) = %v, want %s", tt.o, tt.in, err, tt.want)
		}
	}
}

// The gRPC statuses of v0.3 differ where its clients map one error to a status.
func TestStatusesOfV03(t *testing.T) {
	t.Parallel()
	got := map[string]dialect.Status{}
	for _, err := range []error{
		a2a.ErrTaskNotFound, a2a.ErrTaskNotCancelable, a2a.ErrUnsupportedOperation, a2a.ErrPushNotificationNotSupported,
		a2a.ErrExtendedCardNotConfigured, a2a.ErrExtensionSupportRequired, a2a.ErrVersionNotSupported, a2a.ErrInvalidParams,
		apierror.ErrExhausted, apierror.ErrUnavailable, a2a.ErrUnsupportedContentType,
	} {
		r := dialect.Explain(apierror.New(err, "x"), "")
		dialect.V03Proto.Adapt(&r)
		got[r.Reason] = r.GRPC
	}
	want := map[string]dialect.Status{
		"TASK_NOT_FOUND": dialect.NotFound, "TASK_NOT_CANCELABLE": dialect.FailedPrecondition,
		"UNSUPPORTED_OPERATION": dialect.Unimplemented, "PUSH_NOTIFICATION_NOT_SUPPORTED": dialect.Unimplemented,
		"EXTENDED_AGENT_CARD_NOT_CONFIGURED": dialect.NotFound, "EXTENSION_SUPPORT_REQUIRED": dialect.Unimplemented,
		"VERSION_NOT_SUPPORTED": dialect.Unimplemented, "INVALID_PARAMS": dialect.InvalidArgument,
		"RESOURCE_EXHAUSTED": dialect.ResourceExhausted, "UNAVAILABLE": dialect.Unavailable,
		"CONTENT_TYPE_NOT_SUPPORTED": dialect.InvalidArgument,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses mismatch (-want +got):\n%s", diff)
	}
}

// TestMessageWithoutID: v0.3 requires an id in a message that has a kind. The messages of
// some clients have kinds only on their parts, and no id.
func TestMessageWithoutID(t *testing.T) {
	t.Parallel()
	const parts = `"role":"user","parts":[{"kind":"text","text":"<content>"}]`
	for message, want := range map[string]string{
		`{` + parts + `}`:                                    "",
		`{"kind":"message",` + parts + `}`:                   "message.messageId",
		`{"kind":"message","messageId":null,` + parts + `}`:  "message.messageId",
		`{"kind":"message","message_id":"m1",` + parts + `}`: "",
		`{"kind":"message","messageId":"m1",` + parts + `}`:  "",
		`{"kind":null,` + parts + `}`:                        "",
	} {
		body := `{"message":` + message + `}`
		rpc, err := dialect.V03.Request(dialect.SendMessage, []byte(body))
		if got := fieldOf(t, dialect.SendMessage, rpc, err); got != want {
			t.Errorf("JSON-RPC %s: field %q, want %q", message, got, want)
		}
		rest, err := filler.LegacyAt(dialect.SendMessage, &dialect.LegacyPath{Body: []byte(body)})
		if got := fieldOf(t, dialect.SendMessage, rest, err); got != want {
			t.Errorf("HTTP+JSON %s: field %q, want %q", message, got, want)
		}
	}
}

// fieldOf returns the field of an error; it is empty if the call was accepted.
func fieldOf(t *testing.T, o dialect.Operation, params []byte, err error) string {
	t.Helper()
	if err == nil {
		_, err = perform(o, params)
	}
	if err == nil {
		return ""
	}
	return field(t, err)
}
