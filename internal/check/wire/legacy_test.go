package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

func read(t *testing.T, text string) any {
	t.Helper()
	v, err := Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestFromProto(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"task":{"id":"t","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"role":"ROLE_AGENT","content":[{"text":"?"}]}},"metadata":{"role":"ROLE_USER"}}}`: `{"kind":"task","id":"t","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"?"}]}},"metadata":{"role":"ROLE_USER"}}`,
		`{"message":{"role":"ROLE_AGENT","parts":[{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"x"}},{"file":{"fileWithUri":"u"}},{"data":{"data":{"a":1}}}]}}`:     `{"kind":"message","role":"agent","parts":[{"kind":"file","file":{"bytes":"aGk=","mimeType":"x"}},{"kind":"file","file":{"uri":"u"}},{"kind":"data","data":{"a":1}}]}`,
		`{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_CANCELLED"},"final":true}}`:                                                                      `{"kind":"status-update","taskId":"t","status":{"state":"canceled"},"final":true}`,
		`{"artifactUpdate":{"artifact":{"parts":[{"text":"a"}]}}}`:                                                                                                    `{"kind":"artifact-update","artifact":{"parts":[{"kind":"text","text":"a"}]}}`,
		`{"id":"t","status":{"state":"TASK_STATE_WORKING"}}`:                                                                                                          `{"kind":"task","id":"t","status":{"state":"working"}}`,
		`{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"url":"u"}}`:                                                                           `{"taskId":"t","pushNotificationConfig":{"id":"c","url":"u"}}`,
		`{"configs":[{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"id":"d"}}]}`:                                                              `[{"taskId":"t","pushNotificationConfig":{"id":"d"}}]`,
		`{"kind":"task","status":{"state":"working"}}`:                                                                                                                `{"kind":"task","status":{"state":"working"}}`,
		// Invalid values are unchanged.
		`{"task":{"status":{"state":"TASK_STATE_CANCELED"},"history":[{"role":"USER","content":[{},{"text":"a","data":{}},1]}]}}`: `{"kind":"task","status":{"state":"TASK_STATE_CANCELED"},"history":[{"role":"USER","parts":[{},{"text":"a","data":{}},1]}]}`,
		`{"job":{}}`: `{"job":{}}`,
		`[]`:         `[]`,
		`{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":"d"}`: `{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":"d"}`,
	} {
		if diff := cmp.Diff(read(t, want), fromProto(read(t, in))); diff != "" {
			t.Errorf("fromProto(%s) mismatch (-want +got):\n%s", in, diff)
		}
	}
}

func TestProtoParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op       Op
		in, want string
	}{
		{
			LegacySend, `{"message":{"kind":"message","role":"user","messageId":"m","parts":[{"kind":"text","text":"a"}]},"configuration":{"blocking":true}}`,
			`{"message":{"role":"ROLE_USER","messageId":"m","content":[{"text":"a"}]},"configuration":{"blocking":true}}`,
		},
		{LegacyGet, `{"id":"t","historyLength":1}`, `{"name":"tasks/t","historyLength":1}`},
		{LegacyCancel, `{"id":"t"}`, `{"name":"tasks/t"}`},
		{LegacySubscribe, `{"id":"t"}`, `{"name":"tasks/t"}`},
		{LegacyCreatePush, `{"taskId":"t","pushNotificationConfig":{"url":"u"}}`, `{"parent":"tasks/t","configId":"check","config":{"pushNotificationConfig":{"id":"check","url":"u"}}}`},
		{LegacyGetPush, `{"id":"t","pushNotificationConfigId":"c"}`, `{"name":"tasks/t/pushNotificationConfigs/c"}`},
		{LegacyDeletePush, `{"id":"t","pushNotificationConfigId":"c"}`, `{"name":"tasks/t/pushNotificationConfigs/c"}`},
		{LegacyListPush, `{"id":"t"}`, `{"parent":"tasks/t"}`},
	} {
		got, err := json.Marshal(protoParams(tt.op, read(t, tt.in).(object), "content"))
		if diff := cmp.Diff(read(t, tt.want), read(t, string(got))); err != nil || diff != "" {
			t.Errorf("protoParams(%s, %s) mismatch (-want +got):\n%s", tt.op, tt.in, diff)
		}
	}
}

// The SDKs of v0.3 answer with statuses that v1.0 does not have.
func TestLegacyStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault Fault
		kind  Kind
		want  bool
	}{
		{Fault{Binding: REST, HTTP: 501, Legacy: true}, PushNotSupported, true},
		{Fault{Binding: REST, HTTP: 501}, PushNotSupported, false},
		{Fault{Binding: REST, HTTP: 400, Legacy: true}, PushNotSupported, true},
		{Fault{Binding: GRPC, Status: codes.Unimplemented, Legacy: true}, TaskNotCancelable, true},
		{Fault{Binding: GRPC, Status: codes.Unimplemented}, TaskNotCancelable, false},
		{Fault{Binding: GRPC, Status: codes.NotFound, Legacy: true}, TaskNotFound, true},
		{Fault{Binding: GRPC, Status: codes.Internal, Legacy: true}, TaskNotFound, false},
	} {
		if got := tt.fault.Is(tt.kind); got != tt.want {
			t.Errorf("%+v is %s: %v, want %v", tt.fault, tt.kind, got, tt.want)
		}
	}
}

// FuzzFromProto reads arbitrary answers of a v0.3 server.
func FuzzFromProto(f *testing.F) {
	for _, s := range []string{
		`{"task":{"status":{"message":{"content":[{"file":{"fileWithBytes":1}},{"data":null},{"text":"a","kind":1}]}}}}`,
		`{"configs":[{"pushNotificationConfig":[]},1,{"configs":{}}]}`, `{"pushNotificationConfig":{},"name":[]}`, `{"status":1,"parts":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			return
		}
		if _, err := json.Marshal(fromProto(v)); err != nil {
			t.Errorf("%s becomes a value that is not JSON: %v", b, err)
		}
	})
}
