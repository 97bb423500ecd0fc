package parts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/parts/promptkit"
	"github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
)

const (
	kindless  = `{"message":{"role":"user","parts":[{"text":"hi"}]}}`
	kinded    = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`
	roleOfV1  = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	aboutTask = `{"id":"t1"}`
)

func TestRecognize(t *testing.T) {
	t.Parallel()
	one, three := []string{"1.0"}, []string{"0.3"}
	tests := map[string]struct {
		signs     dialect.Signs
		operation dialect.Operation
		shape     dialect.Shape
	}{
		"v1.0":                      {dialect.Signs{Method: "SendMessage", Params: []byte(roleOfV1), Versions: one}, dialect.SendMessage, dialect.V1},
		"v1.0, plain role":          {dialect.Signs{Method: "SendMessage", Params: []byte(kindless), Versions: one, Root: true}, dialect.SendMessage, dialect.V1},
		"lenient":                   {dialect.Signs{Method: "GetTask", Params: []byte(aboutTask), Lenient: true}, dialect.GetTask, dialect.V1},
		"profile of v1.0":           {dialect.Signs{Method: "ListTasks", Profiles: []dialect.Shape{dialect.V03, dialect.V1}}, dialect.ListTasks, dialect.V1},
		"gateway":                   {dialect.Signs{Method: "SendMessage", Params: []byte(kindless)}, dialect.SendMessage, gateway.Shape},
		"gateway, old name":         {dialect.Signs{Method: "message/send", Params: []byte(kindless), Root: true}, dialect.SendMessage, gateway.Shape},
		"gateway, its own name":     {dialect.Signs{Method: "message/sendStream", Params: []byte(kindless)}, dialect.SendStreamingMessage, gateway.Shape},
		"task of the gateway":       {dialect.Signs{Method: "CancelTask", Params: []byte(aboutTask), Recall: recall(gateway.Shape)}, dialect.CancelTask, gateway.Shape},
		"config of the gateway":     {dialect.Signs{Method: "ListTaskPushNotificationConfig", Params: []byte(`{"taskId":"t1"}`), Recall: recall(gateway.Shape)}, dialect.ListPushConfigs, gateway.Shape},
		"job of an agent":           {dialect.Signs{Method: "GetTask", Params: []byte(aboutTask), Recall: recall(dialect.Job)}, dialect.GetTask, gateway.Shape},
		"profile of the gateway":    {dialect.Signs{Method: "ListTasks", Profiles: []dialect.Shape{gateway.Shape}}, dialect.ListTasks, gateway.Shape},
		"gateway, by its key":       {dialect.Signs{Method: "ListTasks", Root: true, Keyed: true}, dialect.ListTasks, gateway.Shape},
		"gateway, no such task":     {dialect.Signs{Method: "GetTask", Params: []byte(`{"id":"t2"}`), Root: true, Keyed: true, Recall: recall(dialect.V1)}, dialect.GetTask, gateway.Shape},
		"gateway, no such role":     {dialect.Signs{Method: "SendMessage", Params: []byte(`{"message":{"role":"agent"}}`), Root: true, Keyed: true}, dialect.SendMessage, gateway.Shape},
		"a key and a version":       {dialect.Signs{Method: "ListTasks", Root: true, Keyed: true, Versions: one}, dialect.ListTasks, dialect.V1},
		"a key, lenient":            {dialect.Signs{Method: "ListTasks", Root: true, Keyed: true, Lenient: true}, dialect.ListTasks, dialect.V1},
		"a key, profile of v1.0":    {dialect.Signs{Method: "ListTasks", Root: true, Keyed: true, Profiles: []dialect.Shape{dialect.V1}}, dialect.ListTasks, dialect.V1},
		"v0.3":                      {dialect.Signs{Method: "message/send", Params: []byte(kinded), Root: true}, dialect.SendMessage, dialect.V03},
		"v0.3, a part has a kind":   {dialect.Signs{Method: "message/stream", Params: []byte(`{"message":{"parts":[{"kind":"text","text":"x"}]}}`)}, dialect.SendStreamingMessage, dialect.V03},
		"v0.3, gateway's name":      {dialect.Signs{Method: "message/sendStream", Params: []byte(kinded)}, dialect.SendStreamingMessage, dialect.V03},
		"v0.3 by version":           {dialect.Signs{Method: "message/send", Params: []byte(kindless), Versions: three}, dialect.SendMessage, dialect.V03},
		"v0.3, patch":               {dialect.Signs{Method: "tasks/get", Params: []byte(aboutTask), Versions: []string{"", "0.3.0"}, Recall: recall(promptkit.Shape)}, dialect.GetTask, dialect.V03},
		"nothing decides":           {dialect.Signs{Method: "tasks/get", Params: []byte(aboutTask)}, dialect.GetTask, dialect.V03},
		"no message":                {dialect.Signs{Method: "message/send", Params: []byte(`{}`)}, dialect.SendMessage, dialect.V03},
		"no params":                 {dialect.Signs{Method: "message/send"}, dialect.SendMessage, dialect.V03},
		"resubscribe":               {dialect.Signs{Method: "tasks/resubscribe", Params: []byte(aboutTask), Recall: recall(promptkit.Shape)}, dialect.SubscribeToTask, dialect.V03},
		"push":                      {dialect.Signs{Method: "tasks/pushNotificationConfig/set", Profiles: []dialect.Shape{promptkit.Shape}}, dialect.CreatePushConfig, dialect.V03},
		"extended card":             {dialect.Signs{Method: "agent/getAuthenticatedExtendedCard"}, dialect.GetExtendedAgentCard, dialect.V03},
		"PromptKit":                 {dialect.Signs{Method: "message/send", Params: []byte(kindless)}, dialect.SendMessage, promptkit.Shape},
		"PromptKit before profiles": {dialect.Signs{Method: "message/send", Params: []byte(kindless), Profiles: []dialect.Shape{dialect.V03}}, dialect.SendMessage, promptkit.Shape},
		"PromptKit's list":          {dialect.Signs{Method: "tasks/list"}, dialect.ListTasks, promptkit.Shape},
		"PromptKit's subscribe":     {dialect.Signs{Method: "tasks/subscribe", Params: []byte(aboutTask)}, dialect.SubscribeToTask, promptkit.Shape},
		"task of PromptKit":         {dialect.Signs{Method: "tasks/cancel", Params: []byte(aboutTask), Recall: recall(promptkit.Shape)}, dialect.CancelTask, promptkit.Shape},
		"profile before the task":   {dialect.Signs{Method: "tasks/get", Params: []byte(aboutTask), Profiles: []dialect.Shape{dialect.V03}, Recall: recall(promptkit.Shape)}, dialect.GetTask, dialect.V03},
		"the task's has no such":    {dialect.Signs{Method: "tasks/get", Params: []byte(aboutTask), Recall: recall(gateway.Shape)}, dialect.GetTask, dialect.V03},
	}
	for name, tt := range tests {
		o, shape, err := dialect.Recognize(&tt.signs)
		if o != tt.operation || shape != tt.shape || err != nil {
			t.Errorf("%s: %v as %v, %v; want %v as %v", name, o, shape, err, tt.operation, tt.shape)
		}
	}
}

// recall knows the task t1 and no other.
func recall(s dialect.Shape) func(a2a.TaskID) (dialect.Shape, bool) {
	return func(id a2a.TaskID) (dialect.Shape, bool) { return s, id == "t1" }
}

func TestRecognizeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		signs dialect.Signs
		shape dialect.Shape
		want  error
		says  string
	}{
		"v1.0 without version":      {dialect.Signs{Method: "SendMessage", Params: []byte(roleOfV1)}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"no profile, no task":       {dialect.Signs{Method: "ListTasks"}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"a key elsewhere":           {dialect.Signs{Method: "ListTasks", Keyed: true}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"no key":                    {dialect.Signs{Method: "ListTasks", Root: true}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"a key, role of v1.0":       {dialect.Signs{Method: "SendMessage", Params: []byte(roleOfV1), Root: true, Keyed: true}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"task of somebody else":     {dialect.Signs{Method: "GetTask", Params: []byte(`{"id":"t2"}`), Recall: recall(gateway.Shape)}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"task of v1.0":              {dialect.Signs{Method: "GetTask", Params: []byte(aboutTask), Recall: recall(dialect.V1)}, dialect.V1, a2a.ErrVersionNotSupported, "A2A-Version"},
		"v1.0 method in v0.3":       {dialect.Signs{Method: "GetTask", Versions: []string{"0.3"}}, dialect.V1, a2a.ErrVersionNotSupported, "1.0"},
		"v0.3 method in v1.0":       {dialect.Signs{Method: "tasks/get", Versions: []string{"1.0"}}, dialect.V1, a2a.ErrMethodNotFound, "1.0"},
		"version 9.9":               {dialect.Signs{Method: "tasks/get", Versions: []string{"9.9"}}, dialect.V1, a2a.ErrVersionNotSupported, `"9.9"`},
		"version 9.9, gateway":      {dialect.Signs{Method: "SendMessage", Params: []byte(kindless), Versions: []string{"9.9"}}, dialect.V1, a2a.ErrVersionNotSupported, `"9.9"`},
		"two versions":              {dialect.Signs{Method: "tasks/get", Versions: []string{"0.3", "1.0"}}, dialect.V1, a2a.ErrMethodNotFound, "1.0"},
		"unknown":                   {dialect.Signs{Method: "tasks/" + strings.Repeat("x", 1e5)}, dialect.V03, a2a.ErrMethodNotFound, "tasks/xxx"},
		"unknown without version":   {dialect.Signs{Method: "DoSomething"}, dialect.V03, a2a.ErrMethodNotFound, "DoSomething"},
		"unknown of v0.3":           {dialect.Signs{Method: "DoSomething", Versions: []string{"0.3"}}, dialect.V03, a2a.ErrMethodNotFound, "DoSomething"},
		"unknown, version 9.9":      {dialect.Signs{Method: "DoSomething", Versions: []string{"9.9"}}, dialect.V1, a2a.ErrVersionNotSupported, `"9.9"`},
		"unknown, lenient":          {dialect.Signs{Method: "DoSomething", Lenient: true}, dialect.V1, a2a.ErrMethodNotFound, "DoSomething"},
		"unknown of v1.0":           {dialect.Signs{Method: "DoSomething", Versions: []string{"1.0"}}, dialect.V1, a2a.ErrMethodNotFound, "DoSomething"},
		"v0.3 has no list":          {dialect.Signs{Method: "tasks/list", Versions: []string{"0.3"}}, dialect.V03, a2a.ErrMethodNotFound, "tasks/list"},
		"kinds on some parts":       {dialect.Signs{Method: "message/send", Params: []byte(`{"message":{"role":"user","parts":[{"kind":"text","text":"a"},{"text":"b"}]}}`)}, dialect.V03, a2a.ErrInvalidParams, "message.parts[1].kind"},
		"kind on the message alone": {dialect.Signs{Method: "message/send", Params: []byte(`{"message":{"kind":"message","role":"user","parts":[{"text":"b"}]}}`)}, dialect.V03, a2a.ErrInvalidParams, "message.parts[0].kind"},
		"v1.0 role with kinds":      {dialect.Signs{Method: "message/send", Params: []byte(`{"message":{"role":"ROLE_USER","parts":[{"kind":"text","text":"b"}]}}`)}, dialect.V03, a2a.ErrInvalidParams, "message.role"},
		"v1.0 role without kinds":   {dialect.Signs{Method: "message/send", Params: []byte(roleOfV1)}, promptkit.Shape, a2a.ErrInvalidParams, "message.role"},
	}
	for name, tt := range tests {
		_, shape, err := dialect.Recognize(&tt.signs)
		if shape != tt.shape || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 300 {
			t.Errorf("%s: as %v, %v; want as %v, %v that says %s", name, shape, err, tt.shape, tt.want, tt.says)
		}
	}
}
