package dialect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

func ptr(n int) *int { return &n }

const okMessage = `"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`

// okBody is the canonical form of okMessage.
const okBody = `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`

func sent(change func(*op.Send)) *op.Send {
	r := &op.Send{Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: []byte(okBody)}}
	change(r)
	return r
}

func TestSend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     *op.Send
	}{
		{"least", `{` + okMessage + `}`, sent(func(*op.Send) {})},
		{
			"all of it",
			`{"tenant":"a","message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"hi","mediaType":"text/plain"}]},
			  "configuration":{"acceptedOutputModes":["text/plain"],"historyLength":0,"returnImmediately":true,"taskPushNotificationConfig":{"url":"u"}},"metadata":{"k": [1]}}`,
			&op.Send{
				Target: op.Target{Tenant: "a"},
				Message: op.Message{
					ID: "m", ContextID: "c", TaskID: "t", MediaTypes: []string{"text/plain"},
					Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi","mediaType":"text/plain"}]}`),
				},
				Metadata: []byte(`{"k":[1]}`), ReturnImmediately: true, HistoryLength: ptr(0),
				AcceptedOutputModes: []string{"text/plain"}, Push: &op.PushConfig{URL: "u"},
			},
		},
		{
			"rule 11: snake_case everywhere",
			`{"agent_id":"a","message":{"message_id":"m","context_id":"c","role":1,"parts":[{"text":"hi"}]},
			  "configuration":{"accepted_output_modes":["x"],"history_length":"7","return_immediately":false,"task_push_notification_config":null}}`,
			sent(func(r *op.Send) {
				r.Tenant, r.Message.ContextID = "a", "c"
				r.HistoryLength, r.AcceptedOutputModes = ptr(7), []string{"x"}
			}),
		},
		{"rule 6: unset differs from zero", `{` + okMessage + `,"configuration":{"historyLength":null}}`, sent(func(*op.Send) {})},
		{
			"rule 7: unknown fields",
			`{` + okMessage + `,"x_custom":{ "n":1.50 },"Task-Id":"theirs","configuration":{"blocking":1,"y":[9007199254740993],"history-length":2,"y":3}}`,
			sent(func(r *op.Send) {
				r.Others = []byte(`{"params":{"x_custom":{"n":1.50}},"configuration":{"y":[9007199254740993]}}`)
			}),
		},
		{"rule 107: tenant by another name", `{"agentId":"a",` + okMessage + `}`, sent(func(r *op.Send) { r.Tenant = "a" })},
		{"the same tenant twice", `{"agentId":"a","tenant":"a",` + okMessage + `}`, sent(func(r *op.Send) { r.Tenant = "a" })},
		{"short name of the push config", `{` + okMessage + `,"configuration":{"pushNotificationConfig":{"url":"u"}}}`, sent(func(r *op.Send) { r.Push = &op.PushConfig{URL: "u"} })},
		{
			"a whole push config, whose task is that of the message",
			`{"configuration":{"task_push_notification_config":{"tenant":"a","id":"p","taskId":"t","url":"u","token":"k","authentication":{"schemes":["Basic","Bearer"],"credentials":"c"}}},"taskId":"t",` + okMessage + `}`,
			sent(func(r *op.Send) {
				r.Message.TaskID = "t"
				r.Push = &op.PushConfig{
					Target: op.Target{Tenant: "a"}, TaskID: "t", ID: "p", URL: "u", Token: "k", Scheme: "Basic", Credentials: "c",
				}
			}),
		},
		{
			"ids beside the message", `{"contextId":"c","task_id":"t",` + okMessage + `}`,
			sent(func(r *op.Send) { r.Message.ContextID, r.Message.TaskID = "c", "t" }),
		},
		{
			"the ids of the message count first",
			`{"contextId":"x","taskId":"y","message":{"contextId":"c","taskId":"t","messageId":"m","role":1,"parts":[{"text":"hi"}]}}`,
			sent(func(r *op.Send) { r.Message.ContextID, r.Message.TaskID = "c", "t" }),
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := new(dialect.Decoder).SendAt([]byte(tc.in))
			if err != nil {
				t.Fatalf("SendAt(%s) = %v", tc.in, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("SendAt(%s) mismatch (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

func TestSendSkill(t *testing.T) {
	t.Parallel()
	tests := []struct{ message, params, want string }{
		{`{"skill":"a","skillId":"b","skillHint":"c"}`, `{"skill":"d"}`, "a"},
		{`{"skillHint":"c","skillId":"b"}`, `{"skill":"d"}`, "b"},
		{`{"skillHint":"c"}`, `{"skill":"d"}`, "c"},
		{`{"skill":"","skillHint":5}`, `{"skillId":"d"}`, "d"},
		{`{}`, `{"skillHint":"e"}`, "e"},
		{`null`, `{"other":"e"}`, ""},
	}
	for _, tc := range tests {
		in := `{"metadata":` + tc.params + `,"message":{"messageId":"m","role":1,"parts":[{"text":"x"}],"metadata":` + tc.message + `}}`
		got, err := new(dialect.Decoder).Send([]byte(in))
		if err != nil || got.Message.Skill != tc.want {
			t.Errorf("message %s, params %s: skill %q, %v, want %q", tc.message, tc.params, got.Message.Skill, err, tc.want)
		}
	}
}

func TestSendRefused(t *testing.T) {
	t.Parallel()
	message := func(fields string) string { return `{"message":{` + fields + `}}` }
	config := func(fields string) string { return `{` + okMessage + `,"configuration":{` + fields + `}}` }
	tests := []struct{ name, in, field, problem string }{
		{"no params", ``, "message", "required"},
		{"no message", `{}`, "message", "required"},
		{"message null", `{"message":null}`, "message", "required"},
		{"message that is no object", `{"message":"hi"}`, "message", "object"},
		{"two messages", `{` + okMessage + `,` + okMessage + `}`, "message", "twice"},
		{"no messageId", message(`"role":1,"parts":[{"text":"x"}]`), "message.messageId", "required"},
		{"agent's role", message(`"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]`), "message.role", "ROLE_USER"},
		{"agent's role in another dialect", message(`"messageId":"m","role":"agent","parts":[{"text":"x"}]`), "message.role", "ROLE_USER"},
		{"unknown role", message(`"messageId":"m","role":"system","parts":[{"text":"x"}]`), "message.role", "ROLE_USER"},
		{"bad part", message(`"messageId":"m","role":1,"parts":[{"text":"x"},{"raw":"*"}]`), "message.parts[1].raw", "base64"},
		{"negative historyLength", config(`"historyLength":-1`), "configuration.historyLength", "negative"},
		{"historyLength that is no integer", config(`"history_length":1.5`), "configuration.history_length", "integer"},
		{"returnImmediately that is no truth value", config(`"returnImmediately":1`), "configuration.returnImmediately", "true or false"},
		{"output modes that are no list", config(`"acceptedOutputModes":"x"`), "configuration.acceptedOutputModes", "list"},
		{"push config that is no object", config(`"taskPushNotificationConfig":"x"`), "configuration.taskPushNotificationConfig", "object"},
		{"push config without url", config(`"taskPushNotificationConfig":{}`), "configuration.taskPushNotificationConfig.url", "required"},
		{"push config whose token is no string", config(`"pushNotificationConfig":{"url":"u","token":1}`), "configuration.pushNotificationConfig.token", "string"},
		{"push config of a task, with a message of none", config(`"taskPushNotificationConfig":{"url":"u","taskId":"t"}`), "configuration.taskPushNotificationConfig.taskId", "message's"},
		{"push config of another task", `{"taskId":"t",` + okMessage + `,"configuration":{"pushNotificationConfig":{"url":"u","taskId":"other"}}}`, "configuration.pushNotificationConfig.taskId", "message's"},
		{"push config without scheme", config(`"taskPushNotificationConfig":{"url":"u","authentication":{"credentials":"c"}}`), "configuration.taskPushNotificationConfig.authentication.scheme", "required"},
		{"configuration that is no object", `{` + okMessage + `,"configuration":[]}`, "configuration", "object"},
		{"metadata that is no object", `{` + okMessage + `,"metadata":"x"}`, "metadata", "object"},
		{"metadata name twice", `{` + okMessage + `,"metadata":{"a":1,"a":2}}`, "metadata.a", "twice"},
		{"tenant that is no string", `{` + okMessage + `,"tenant":5}`, "tenant", "string"},
		{"two tenants", `{` + okMessage + `,"tenant":"a","agentId":"b"}`, "agentId", "contradicts"},
		{"tenant in two spellings", `{` + okMessage + `,"agent_id":"a","agentId":"a"}`, "agentId", "twice"},
		{"contextId that is no string", `{` + okMessage + `,"contextId":5}`, "contextId", "string"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := new(dialect.Decoder).Send([]byte(tc.in))
			wantField(t, err, tc.field, tc.problem)
		})
	}
}

// wantField checks that err is an InvalidParams about one field of the request.
func wantField(t *testing.T, err error, field, problem string) {
	t.Helper()
	var e *apierror.Error
	if !errors.As(err, &e) || !errors.Is(err, a2a.ErrInvalidParams) {
		t.Fatalf("error = %v, want a *fault.Error that wraps ErrInvalidParams", err)
	}
	if len(e.Violations) != 1 || e.Violations[0].Field != field || !strings.Contains(e.Violations[0].Problem, problem) {
		t.Errorf("violations = %+v, want field %q with %q", e.Violations, field, problem)
	}
}

func TestSendOptions(t *testing.T) {
	t.Parallel()
	two := []byte(`{"message":{"messageId":"m","role":1,"parts":[{"text":"x"},{"text":"y"}]}}`)
	_, err := (&dialect.Decoder{MaxParts: 1}).Send(two)
	wantField(t, err, "message.parts", "more than 1")

	bare := []byte(`{"message":{"parts":[{"text":"x"}]}}`)
	got, err := (&dialect.Decoder{Fill: true}).Send(bare)
	if err != nil || got.Message.ID == "" {
		t.Fatalf("Send with Fill = %+v, %v", got, err)
	}
	var m a2a.Message
	if err := json.Unmarshal(got.Message.Body, &m); err != nil || m.ID != got.Message.ID || m.Role != a2a.MessageRoleUser {
		t.Errorf("filled message %s, %v", got.Message.Body, err)
	}
}

func TestSendAtBody(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]error{
		``: a2a.ErrParseError, `{`: a2a.ErrParseError, `{} {}`: a2a.ErrParseError,
		`[]`: a2a.ErrInvalidRequest, `null`: a2a.ErrInvalidRequest, `{}`: a2a.ErrInvalidParams,
	} {
		if _, err := new(dialect.Decoder).SendAt([]byte(in)); !errors.Is(err, want) {
			t.Errorf("SendAt(%q) = %v, want %v", in, err, want)
		}
	}
}

// Requests are read from pooled buffers, so nothing decoded may alias them.
func TestSendAliasesNothing(t *testing.T) {
	t.Parallel()
	in := []byte(`{"tenant":"a","message":{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"hi","mediaType":"x"}],"metadata":{"skill":"s"}},"configuration":{"acceptedOutputModes":["y"]},"metadata":{"k":1}}`)
	got, err := new(dialect.Decoder).SendAt(in)
	if err != nil {
		t.Fatal(err)
	}
	clear(in)
	want := &op.Send{
		Target: op.Target{Tenant: "a"},
		Message: op.Message{
			ID: "m", ContextID: "c", TaskID: "t", Skill: "s", MediaTypes: []string{"x"},
			Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi","mediaType":"x"}],"metadata":{"skill":"s"}}`),
		},
		Metadata: []byte(`{"k":1}`), AcceptedOutputModes: []string{"y"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch after the input was cleared (-want +got):\n%s", diff)
	}
}

// The decoder reads the requests of the SDK's client.
func TestSendFromSDK(t *testing.T) {
	t.Parallel()
	n := 3
	in, err := json.Marshal(&a2a.SendMessageRequest{
		Tenant: "a",
		Config: &a2a.SendMessageConfig{AcceptedOutputModes: []string{"x"}, ReturnImmediately: true, HistoryLength: &n, PushConfig: &a2a.PushConfig{URL: "u"}},
		Message: &a2a.Message{
			ID: "m", Role: a2a.MessageRoleUser, ContextID: "c", TaskID: "t",
			Parts: a2a.ContentParts{a2a.NewTextPart("hi"), a2a.NewRawPart([]byte{1}), a2a.NewDataPart(map[string]any{"k": 1})},
		},
		Metadata: map[string]any{"skill": "s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := new(dialect.Decoder).Send(in)
	if err != nil {
		t.Fatal(err)
	}
	want := &op.Send{
		Target: op.Target{Tenant: "a"},
		Message: op.Message{
			ID: "m", ContextID: "c", TaskID: "t", Skill: "s", MediaTypes: []string{"", "", ""},
			Body: []byte(`{"messageId":"m","parts":[{"text":"hi"},{"raw":"AQ=="},{"data":{"k":1}}],"role":"ROLE_USER"}`),
		},
		Metadata: []byte(`{"skill":"s"}`), ReturnImmediately: true, HistoryLength: &n,
		AcceptedOutputModes: []string{"x"}, Push: &op.PushConfig{URL: "u"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// A role may be spelled as in the protocol, as its number, or as in v0.3 and other dialects; it
// is always written in the protocol's spelling.
func TestRolesOfEverySpelling(t *testing.T) {
	t.Parallel()
	for _, role := range []string{`"ROLE_USER"`, `1`, `"user"`, `"\u0075ser"`} {
		var d dialect.Decoder
		r, err := d.Send([]byte(`{"message":{"messageId":"m","role":` + role + `,"parts":[{"text":"x"}]}}`))
		if err != nil {
			t.Errorf("role %s: %v", role, err)
			continue
		}
		if !strings.Contains(string(r.Message.Body), `"role":"ROLE_USER"`) {
			t.Errorf("role %s is stored as %s", role, r.Message.Body)
		}
	}
}
