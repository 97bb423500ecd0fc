package dialect_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v0/pbjson"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

const (
	v03Hi   = `"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}`
	v1Hi    = `"message":{"messageId":"m","role":"user","parts":[{"text":"hi"}]}`
	protoHi = `"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}`
)

func TestV03Requests(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		o        dialect.Operation
		in, want string
	}{
		{"message", dialect.SendMessage, `{` + v03Hi + `}`, `{` + v1Hi + `}`},
		{"no params", dialect.SendMessage, ``, ``},
		{
			"what nobody knows", dialect.SendStreamingMessage,
			`{"tenant":"a","message":{"kind":"message","messageId":"m","role":"user","x-n":12345678901234567890,"parts":[{"kind":"text","text":"hi","x":[]}]},"metadata":{"k":1.10}}`,
			`{"tenant":"a","message":{"messageId":"m","role":"user","x-n":12345678901234567890,"parts":[{"text":"hi","x":[]}]},"metadata":{"k":1.10}}`,
		},
		{
			"every part", dialect.SendMessage,
			`{"message":{"role":"user","parts":` + v03Parts + `}}`,
			`{"message":{"role":"user","parts":[{"text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
				`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain","x-n":1.10},{"url":"https://a.example/","metadata":{"k":"v"}},` +
				`{"data":{"k":[1]}},{"data":[1,2],"metadata":{"k":"v"}},{"data":null}]}}`,
		},
		{
			"parts without a kind", dialect.SendMessage,
			`{"message":{"role":"user","parts":[{"text":"a","file":null},{"file":{"uri":"u","x":1}}]}}`,
			`{"message":{"role":"user","parts":[{"text":"a"},{"url":"u","x":1}]}}`,
		},
		{"waits", dialect.SendMessage, `{"configuration":{"blocking":true}}`, `{"configuration":{"returnImmediately":false}}`},
		{
			"does not wait", dialect.SendMessage,
			`{"configuration":{"historyLength":0,"blocking":false,"acceptedOutputModes":["text/plain"]}}`,
			`{"configuration":{"historyLength":0,"returnImmediately":true,"acceptedOutputModes":["text/plain"]}}`,
		},
		{"does not say", dialect.SendMessage, `{"configuration":{"blocking":null}}`, `{"configuration":{}}`},
		{
			"webhook", dialect.SendMessage,
			`{"configuration":{"pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}}}`,
			`{"configuration":{"pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer","Basic"],"credentials":"c"}}}}`,
		},
		{
			"webhook with nothing to say", dialect.SendMessage,
			`{"configuration":{"pushNotificationConfig":{"url":"u","authentication":{"schemes":[],"credentials":null}}}}`,
			`{"configuration":{"pushNotificationConfig":{"url":"u"}}}`,
		},
		{"get", dialect.GetTask, `{"id":"t","historyLength":0,"metadata":{}}`, `{"id":"t","historyLength":0,"metadata":{}}`},
		{"cancel", dialect.CancelTask, `{"id":"t"}`, `{"id":"t"}`},
		{"resubscribe", dialect.SubscribeToTask, `{"id":"t"}`, `{"id":"t"}`},
		{
			"set config", dialect.CreatePushConfig,
			`{"tenant":"a","metadata":{},"taskId":"t","pushNotificationConfig":{"id":"p","url":"u","token":"k","taskId":"x","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`,
			`{"tenant":"a","taskId":"t","id":"p","url":"u","token":"k","authentication":{"schemes":["Bearer"],"credentials":"c"}}`,
		},
		{"get config", dialect.GetPushConfig, `{"id":"t","pushNotificationConfigId":"p","metadata":{}}`, `{"taskId":"t","id":"p"}`},
		{"get any config", dialect.GetPushConfig, `{"id":"t"}`, `{"taskId":"t"}`},
		{"delete config", dialect.DeletePushConfig, `{"pushNotificationConfigId":"p","id":"t"}`, `{"id":"p","taskId":"t"}`},
		{"list configs", dialect.ListPushConfigs, `{"id":"t","agentId":"a"}`, `{"taskId":"t","agentId":"a"}`},
		{"card", dialect.GetExtendedAgentCard, ``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := dialect.V03.Request(tt.o, []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, "params", tt.want, string(got))
		})
	}
}

// filler is the decoder of the dialects that are not v1.0.
var filler = dialect.Decoder{Fill: true}

// perform decodes params of an operation as a binding does.
func perform(o dialect.Operation, params []byte) (r any, err error) {
	switch o {
	case dialect.SendMessage, dialect.SendStreamingMessage:
		r, err = filler.Send(params)
	case dialect.GetTask:
		r, err = filler.Get(params)
	case dialect.CancelTask:
		r, err = filler.Cancel(params)
	case dialect.SubscribeToTask:
		r, err = filler.Subscribe(params)
	case dialect.CreatePushConfig:
		r, err = filler.CreatePush(params)
	case dialect.GetPushConfig, dialect.DeletePushConfig:
		r, err = filler.PushRef(params)
	case dialect.ListPushConfigs:
		r, err = filler.PushList(params)
	case dialect.GetExtendedAgentCard:
		r, err = filler.Extended(params)
	default:
		r, err = filler.List(params)
	}
	return r, err
}

// field returns the field that an error is about.
func field(t *testing.T, err error) string {
	t.Helper()
	var received *apierror.Error
	if !errors.As(err, &received) || !errors.Is(err, a2a.ErrInvalidParams) || len(received.Violations) != 1 {
		t.Fatalf("error %v, want one about a field", err)
	}
	return received.Violations[0].Field
}

// TestV03Errors checks that errors of all layers name the field as the caller spelled it.
func TestV03Errors(t *testing.T) {
	t.Parallel()
	send := func(part string) string {
		return `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":""},` + part + `]}}`
	}
	tests := []struct {
		o        dialect.Operation
		in, want string
	}{
		{dialect.SendMessage, ``, "message"},
		{dialect.SendMessage, `{"message":[]}`, "message"},
		{dialect.SendMessage, `{"message":{"kind":"task"}}`, "message.kind"},
		{dialect.SendMessage, `{"message":{"role":"ROLE_USER"}}`, "message.role"},
		{dialect.SendMessage, `{"message":{"role":"agent"}}`, "message.role"},
		{dialect.SendMessage, `{"message":{"role":"user","parts":{}}}`, "message.parts"},
		{dialect.SendMessage, `{"message":{"role":"user"}}`, "message.parts"},
		{dialect.SendMessage, send(`1`), "message.parts[1]"},
		{dialect.SendMessage, send(`{"kind":"sound"}`), "message.parts[1].kind"},
		{dialect.SendMessage, send(`{"kind":["text"],"text":""}`), "message.parts[1].kind"},
		{dialect.SendMessage, send(`{"kind":"text","data":{}}`), "message.parts[1].text"},
		{dialect.SendMessage, send(`{"kind":"text","text":1}`), "message.parts[1].text"},
		{dialect.SendMessage, send(`{"kind":"file","file":"x"}`), "message.parts[1].file"},
		{dialect.SendMessage, send(`{"kind":"file","file":null}`), "message.parts[1].file"},
		{dialect.SendMessage, send(`{"kind":"file","file":{}}`), "message.parts[1].file"},
		{dialect.SendMessage, send(`{"kind":"file","file":{"bytes":"","uri":"u"}}`), "message.parts[1].file"},
		{dialect.SendMessage, send(`{"kind":"file","file":{"bytes":"%"}}`), "message.parts[1].file.bytes"},
		{dialect.SendMessage, send(`{"kind":"file","file":{"uri":""}}`), "message.parts[1].file.uri"},
		{dialect.SendMessage, send(`{"kind":"file","file":{"uri":"u","name":1}}`), "message.parts[1].file.name"},
		{dialect.SendMessage, send(`{"kind":"file","file":{"uri":"u","mimeType":1}}`), "message.parts[1].file.mimeType"},
		{dialect.SendMessage, send(`{"kind":"data","data":{},"metadata":1}`), "message.parts[1].metadata"},
		{dialect.SendMessage, `{"configuration":{"blocking":"no"},` + v03Hi + `}`, "configuration.blocking"},
		{dialect.SendMessage, `{"configuration":{"historyLength":-1},` + v03Hi + `}`, "configuration.historyLength"},
		{dialect.SendMessage, `{"configuration":{"pushNotificationConfig":{}},` + v03Hi + `}`, "configuration.pushNotificationConfig.url"},
		{
			dialect.SendMessage, `{"configuration":{"pushNotificationConfig":{"url":"u","authentication":{"credentials":"c"}}},` + v03Hi + `}`,
			"configuration.pushNotificationConfig.authentication.schemes",
		},
		{dialect.GetTask, `{}`, "id"},
		{dialect.CancelTask, `{"id":1}`, "id"},
		{dialect.CreatePushConfig, `{"taskId":"t"}`, "pushNotificationConfig"},
		{dialect.CreatePushConfig, `{"taskId":"t","pushNotificationConfig":1}`, "pushNotificationConfig"},
		{dialect.CreatePushConfig, `{"pushNotificationConfig":{"url":"u"}}`, "taskId"},
		{dialect.CreatePushConfig, `{"taskId":"t","pushNotificationConfig":{}}`, "pushNotificationConfig.url"},
		{dialect.CreatePushConfig, `{"taskId":"t","pushNotificationConfig":{"url":"u","authentication":{"schemes":[1]}}}`, "pushNotificationConfig.authentication.schemes[0]"},
		{dialect.GetPushConfig, `{"pushNotificationConfigId":"p"}`, "id"},
		{dialect.DeletePushConfig, `{"id":"t"}`, "pushNotificationConfigId"},
		{dialect.ListPushConfigs, `{}`, "id"},
	}
	for _, tt := range tests {
		params, err := dialect.V03.Request(tt.o, []byte(tt.in))
		if err == nil {
			_, err = perform(tt.o, params)
			err = dialect.V03.Blame(tt.o, err)
		}
		if got := field(t, err); got != tt.want {
			t.Errorf("%v %s: field %q (%v), want %q", tt.o, tt.in, got, err, tt.want)
		}
	}
}

func TestBlame(t *testing.T) {
	t.Parallel()
	inline := apierror.Field(a2a.ErrInvalidParams, "configuration.taskPushNotificationConfig.url", "is bad").With("k", "v")
	inline.RetryAfter = 1
	for shape, want := range map[dialect.Shape]string{
		dialect.V1:       "configuration.taskPushNotificationConfig.url",
		dialect.V03:      "configuration.pushNotificationConfig.url",
		dialect.V03Proto: "configuration.pushNotification.url",
	} {
		got := shape.Blame(dialect.SendMessage, inline)
		r := dialect.Explain(got, "")
		if field(t, got) != want || r.Message != want+": is bad" || r.Meta["k"] != "v" || r.RetryAfter != 1 {
			t.Errorf("%v blames %+v, want it about %s", shape, r, want)
		}
	}
	other := apierror.New(a2a.ErrTaskNotFound, "gone")
	if got := dialect.V03.Blame(dialect.GetTask, other); got != error(other) {
		t.Errorf("Blame(%v) = %v", other, got)
	}
	if got := dialect.V03.Blame(dialect.GetTask, nil); got != nil {
		t.Errorf("Blame(nil) = %v", got)
	}
}

func TestLegacyAt(t *testing.T) {
	t.Parallel()
	path := func(query, body string) *dialect.LegacyPath {
		return &dialect.LegacyPath{Task: "t", Config: "p", Query: query, Body: []byte(body)}
	}
	tests := []struct {
		name string
		o    dialect.Operation
		at   *dialect.LegacyPath
		want string
	}{
		{"proto", dialect.SendMessage, path("", `{`+protoHi+`}`), `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`},
		{"JSON-RPC's shape", dialect.SendStreamingMessage, path("", `{`+v03Hi+`}`), `{` + v1Hi + `}`},
		{"the proto's other name", dialect.SendMessage, path("", `{"request":{"role":"ROLE_USER","content":[]},"configuration":{}}`), `{"message":{"role":"ROLE_USER","parts":[]},"configuration":{"returnImmediately":true}}`},
		{
			"every part", dialect.SendMessage, path("", `{"message":{"role":"ROLE_USER","content":`+protoParts+`}}`),
			`{"message":{"role":"ROLE_USER","parts":[{"text":"hi","metadata":{"n":12345678901234567890}},{"raw":"aGk=","mediaType":"text/plain","filename":"a.txt"},` +
				`{"url":"https://a.example/","metadata":{"k":"v"}},{"data":{"k":[1]}},{"data":[1,2],"metadata":{"k":"v"}},{"data":null}]}}`,
		},
		{
			"every part of JSON-RPC", dialect.SendMessage, path("", `{"message":{"role":"ROLE_USER","parts":`+v03Parts+`}}`),
			`{"message":{"role":"ROLE_USER","parts":[{"text":"hi","mediaType":"text/markdown","metadata":{"n":12345678901234567890}},` +
				`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain","x-n":1.10},{"url":"https://a.example/","metadata":{"k":"v"}},` +
				`{"data":{"k":[1]}},{"data":[1,2],"metadata":{"k":"v"}},{"data":null}]}}`,
		},
		{
			"bytes encoded once, nulls, snake case", dialect.SendMessage,
			path("", `{"message":{"role":"ROLE_USER","content":[{"text":null,"data":null,"file":{"file_with_bytes":"AAEC","mime_type":"x"}},{"file":null,"data":{"k":1}}]}}`),
			`{"message":{"role":"ROLE_USER","parts":[{"text":null,"raw":"AAEC","mediaType":"x"},{"data":{"k":1}}]}}`,
		},
		{
			"what a DataPart has beside its data", dialect.SendMessage,
			path("", `{"message":{"role":"ROLE_USER","content":[{"data":{"x":1.10,"data":{"k":1},"Text":"y"},"z":[]},{"data":{"data":1,"k":2}}]}}`),
			`{"message":{"role":"ROLE_USER","parts":[{"x":1.10,"data":{"k":1},"z":[]},{"data":{"data":1,"k":2}}]}}`,
		},
		{
			"does not say", dialect.SendMessage, path("", `{`+protoHi+`,"configuration":{"acceptedOutputModes":[],"historyLength":0}}`),
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"acceptedOutputModes":[],"returnImmediately":true}}`,
		},
		{
			"does not say in JSON-RPC's shape", dialect.SendMessage, path("", `{`+v03Hi+`,"configuration":{"historyLength":"2"}}`),
			`{` + v1Hi + `,"configuration":{"historyLength":"2"}}`,
		},
		{
			"waits, with a webhook", dialect.SendMessage, path("", `{"configuration":{"blocking":true,"pushNotification":{"url":"u","authentication":{}}}}`),
			`{"configuration":{"returnImmediately":false,"pushNotificationConfig":{"url":"u"}}}`,
		},
		{"get", dialect.GetTask, path("", ""), `{"id":"t"}`},
		{"get, a query", dialect.GetTask, path("history_length=3&tenant=a&x=y", ""), `{"id":"t","history_length":"3","tenant":"a"}`},
		{"get, zero is none", dialect.GetTask, path("historyLength=0", ""), `{"id":"t"}`},
		{"cancel", dialect.CancelTask, path("", ` `), `{"id":"t"}`},
		{"cancel, null", dialect.CancelTask, path("", `null`), `{"id":"t"}`},
		{"cancel, named", dialect.CancelTask, path("", `{"name":"tasks/t","metadata":{"k":1},"x":1}`), `{"id":"t","metadata":{"k":1}}`},
		{"subscribe", dialect.SubscribeToTask, path("", `{"name":null}`), `{"id":"t"}`},
		{"get config", dialect.GetPushConfig, path("", ""), `{"taskId":"t","id":"p"}`},
		{"delete config", dialect.DeletePushConfig, path("", `{"name":"tasks/t/pushNotificationConfigs/p"}`), `{"taskId":"t","id":"p"}`},
		{"list configs", dialect.ListPushConfigs, path("pageSize=2&pageToken=k", ""), `{"taskId":"t","pageSize":"2","pageToken":"k"}`},
		{"card", dialect.GetExtendedAgentCard, &dialect.LegacyPath{Query: "tenant=a"}, `{"tenant":"a"}`},
		{
			"set config, the request", dialect.CreatePushConfig,
			path("", `{"parent":"tasks/t","configId":"p","tenant":"a","config":{"name":"tasks/t/pushNotificationConfigs/q","pushNotificationConfig":{"id":"","url":"u","token":"k"}}}`),
			`{"taskId":"t","tenant":"a","id":"p","url":"u","token":"k"}`,
		},
		{
			"set config, the config", dialect.CreatePushConfig,
			path("", `{"name":"tasks/t/pushNotificationConfigs/q","pushNotificationConfig":{"url":"u"}}`), `{"taskId":"t","id":"q","url":"u"}`,
		},
		{
			"set config, its own id counts first", dialect.CreatePushConfig,
			path("", `{"configId":"q","config":{"pushNotificationConfig":{"id":"p","url":"u","authentication":{"schemes":["Bearer"]}}}}`),
			`{"taskId":"t","id":"p","url":"u","authentication":{"schemes":["Bearer"]}}`,
		},
		{"set config, JSON-RPC's params", dialect.CreatePushConfig, path("", `{"taskId":"t","pushNotificationConfig":{"id":"p","url":"u"}}`), `{"taskId":"t","id":"p","url":"u"}`},
		{"set config, bare", dialect.CreatePushConfig, path("", `{"url":"u"}`), `{"taskId":"t","url":"u"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := filler.LegacyAt(tt.o, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			wantText(t, "params", tt.want, string(got))
		})
	}
}

func TestLegacyAtErrors(t *testing.T) {
	t.Parallel()
	send := func(part string) string { return `{"message":{"role":"ROLE_USER","content":[` + part + `]}}` }
	tests := []struct {
		o        dialect.Operation
		in, want string
	}{
		{dialect.SendMessage, `{}`, "message"},
		{dialect.SendMessage, `{"message":1}`, "message"},
		{dialect.SendMessage, `{"message":{"kind":"task"}}`, "message.kind"},
		{dialect.SendMessage, `{"message":{"role":"ROLE_USER","content":[],"parts":[]}}`, "message.parts"},
		{dialect.SendMessage, `{"message":{"role":"ROLE_USER","content":{}}}`, "message.content"},
		{dialect.SendMessage, `{"message":{"content":[{"text":"x"}]}}`, "message.role"},
		{dialect.SendMessage, `{"message":{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"x"}]}}`, "message.role"},
		{dialect.SendMessage, send(`{}`), "message.content[0]"},
		{dialect.SendMessage, send(`{"text":1}`), "message.content[0].text"},
		{dialect.SendMessage, send(`{"file":{"fileWithBytes":"%"}}`), "message.content[0].file.fileWithBytes"},
		{dialect.SendMessage, send(`{"file":{"fileWithUri":1}}`), "message.content[0].file.fileWithUri"},
		{dialect.SendMessage, send(`{"file":{}}`), "message.content[0].file"},
		{dialect.SendMessage, `{"configuration":{"blocking":1},` + protoHi + `}`, "configuration.blocking"},
		{dialect.SendMessage, `{"configuration":{"pushNotification":{}},` + protoHi + `}`, "configuration.pushNotification.url"},
		{dialect.CancelTask, `{"name":"tasks/u"}`, "name"},
		{dialect.CancelTask, `{"name":"tasks/tt"}`, "name"},
		{dialect.CancelTask, `{"name":1}`, "name"},
		{dialect.CreatePushConfig, `{"parent":"tasks/u","config":{}}`, "parent"},
		{dialect.CreatePushConfig, `{"config":{"pushNotificationConfig":{}}}`, "config.pushNotificationConfig.url"},
		{dialect.CreatePushConfig, `{"config":{"push_notification_config":{}}}`, "config.pushNotificationConfig.url"},
		{dialect.CreatePushConfig, `{"config":1}`, "config"},
		{dialect.CreatePushConfig, `{"config":{"push_notification_config":1}}`, "config.push_notification_config"},
		{dialect.CreatePushConfig, `{"configId":"a","config_id":"b","config":{}}`, "config_id"},
	}
	for _, tt := range tests {
		params, err := filler.LegacyAt(tt.o, &dialect.LegacyPath{Task: "t", Body: []byte(tt.in)})
		if err == nil {
			_, err = perform(tt.o, params)
			err = dialect.V03Proto.Blame(tt.o, err)
		}
		if got := field(t, err); got != tt.want {
			t.Errorf("%v %s: field %q (%v), want %q", tt.o, tt.in, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		o    dialect.Operation
		at   dialect.LegacyPath
		want error
	}{
		{dialect.SendMessage, dialect.LegacyPath{}, a2a.ErrParseError},
		{dialect.SendMessage, dialect.LegacyPath{Body: []byte(`[]`)}, a2a.ErrInvalidRequest},
		{dialect.CancelTask, dialect.LegacyPath{Body: []byte(`{`)}, a2a.ErrParseError},
		{dialect.GetTask, dialect.LegacyPath{Query: "%zz"}, a2a.ErrInvalidParams},
	} {
		if _, err := filler.LegacyAt(tt.o, &tt.at); !errors.Is(err, tt.want) {
			t.Errorf("LegacyAt(%v, %+v) = %v, want %v", tt.o, tt.at, err, tt.want)
		}
	}
}

// TestOriginalNames reads each request with the proto's original field names, which every
// ProtoJSON reader accepts besides camelCase.
func TestOriginalNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o  dialect.Operation
		in string
	}{
		{dialect.SendMessage, `{"message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","content":` + protoParts + `},` +
			`"configuration":{"acceptedOutputModes":["text/plain"],"historyLength":2,"blocking":true,"pushNotification":{"id":"p","url":"u"}}}`},
		{dialect.GetTask, `{"historyLength":2}`},
		{dialect.CancelTask, `{"name":"tasks/t","agentId":"a"}`},
		{dialect.ListPushConfigs, `{"parent":"tasks/t","pageSize":2,"pageToken":"k"}`},
		{dialect.CreatePushConfig, `{"parent":"tasks/t","configId":"p","config":{"pushNotificationConfig":{"url":"u"}}}`},
		{dialect.CreatePushConfig, `{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"u"}}`},
	} {
		var both [2]any
		for i, body := range []string{tt.in, camel.ReplaceAllStringFunc(tt.in, originalName)} {
			params, err := filler.LegacyAt(tt.o, &dialect.LegacyPath{Task: "t", Config: "p", Body: []byte(body)})
			if err == nil {
				both[i], err = perform(tt.o, params)
			}
			if err != nil {
				t.Fatalf("%v %s: %v", tt.o, body, err)
			}
			if i == 1 && body == tt.in {
				t.Errorf("%v %s: no name has another spelling", tt.o, body)
			}
		}
		if diff := cmp.Diff(both[0], both[1]); diff != "" {
			t.Errorf("%v %s with original names (-camelCase +original):\n%s", tt.o, tt.in, diff)
		}
	}
}

var camel = regexp.MustCompile(`"[a-z]+[A-Z][A-Za-z]*":`)

func originalName(name string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(c string) string { return "_" + strings.ToLower(c) })
}

// TestProtoIsThatOfTheSDK lets the SDK's types of v0.3 write the input of the readers and read
// the output of the writers.
func TestProtoIsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hi"), a2a.NewRawPart([]byte("raw")), a2a.NewDataPart(map[string]any{"k": "v"}))
	msg.Parts[1].MediaType, msg.Parts[1].Filename = "text/plain", "f"
	body, err := pbjson.ToProtoSendMessageRequest(&a2a.SendMessageRequest{
		Message: msg, Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "u", Auth: &a2a.PushAuthInfo{Scheme: "Bearer"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	params, err := filler.LegacyAt(dialect.SendMessage, &dialect.LegacyPath{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	got, err := perform(dialect.SendMessage, params)
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	r := got.(*op.Send)
	if r.ReturnImmediately || r.Push == nil || r.Push.Scheme != "Bearer" {
		t.Errorf("configuration read as %+v", r)
	}
	answer := dialect.V03Proto.AppendResult(nil, dialect.SendMessage, append(append([]byte(`{"message":`), r.Message.Body...), '}'))
	back, err := pbjson.FromProtoSendMessageResponse(answer)
	if err != nil {
		t.Fatalf("the SDK refuses %s: %v", answer, err)
	}
	if diff := cmp.Diff(msg, back); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%s", answer, diff)
	}
}

func TestAppendV03Error(t *testing.T) {
	t.Parallel()
	err := apierror.Field(a2a.ErrInvalidParams, "id", "is required").With("taskId", "t")
	r := dialect.Explain(err, "")
	wantText(t, "error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"id: is required","data":{"reason":"INVALID_PARAMS",`+
		`"metadata":{"taskId":"t"},"fieldViolations":[{"field":"id","description":"is required"}]}}}`, string(r.AppendV03(nil, []byte("1"))))
	busy := apierror.New(apierror.ErrExhausted, "busy")
	busy.RetryAfter = 2e9
	r = dialect.Explain(busy, "")
	wantText(t, "error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"busy","data":{"reason":"RESOURCE_EXHAUSTED","retryDelay":"2s"}}}`,
		string(r.AppendV03(nil, nil)))
}

// legacyOperations are all operations of v0.3.
var legacyOperations = []dialect.Operation{
	dialect.SendMessage, dialect.GetTask, dialect.CancelTask, dialect.SubscribeToTask, dialect.CreatePushConfig,
	dialect.GetPushConfig, dialect.ListPushConfigs, dialect.DeletePushConfig, dialect.GetExtendedAgentCard,
}

// FuzzLegacy checks that any input becomes v1.0 params or an error for the caller, and that
// each shape can write accepted requests and read them back.
func FuzzLegacy(f *testing.F) {
	for _, s := range []string{
		`{` + v03Hi + `,"configuration":{"blocking":true,"pushNotificationConfig":{"url":"u","authentication":{"schemes":[]}}}}`,
		`{` + protoHi + `}`, `{"message":{"role":"user","parts":` + v03Parts + `}}`, `{"message":{"content":` + protoParts + `}}`,
		`{"id":"t","pushNotificationConfigId":"p","historyLength":0}`, `{"taskId":"t","pushNotificationConfig":{"url":"u"}}`,
		`{"parent":"tasks/t","configId":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"u"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if filler.Body(in) != nil {
			return
		}
		for _, o := range legacyOperations {
			params, err := dialect.V03.Request(o, in)
			checkLegacy(t, o, params, err)
			params, err = filler.LegacyAt(o, &dialect.LegacyPath{Task: "t", Config: "p", Body: in})
			checkLegacy(t, o, params, err)
			params, err = filler.LegacyMessage(o, in)
			checkLegacy(t, o, params, err)
		}
	})
}

func checkLegacy(t *testing.T, o dialect.Operation, params []byte, err error) {
	t.Helper()
	if err != nil {
		checkTold(t, err)
		return
	}
	if err := rawjson.Check(params, 200); err != nil {
		t.Fatalf("params %s of %v: %v", params, o, err)
	}
	r, err := perform(o, params)
	if err != nil {
		checkTold(t, dialect.V03.Blame(o, err))
		checkTold(t, dialect.V03Proto.Blame(o, err))
		return
	}
	send, ok := r.(*op.Send)
	if !ok {
		return
	}
	for _, shape := range []dialect.Shape{dialect.V03, dialect.V03Proto} {
		v1 := append(append([]byte(`{"message":`), send.Message.Body...), '}')
		out := shape.AppendResult(nil, dialect.SendMessage, v1)
		if err := rawjson.Check(out, 200); err != nil {
			t.Fatalf("%v writes %s: %v", shape, out, err)
		}
		if strings.ContainsAny(string(out), "\r\n") {
			t.Fatalf("%v writes more than one line: %q", shape, out)
		}
	}
}
