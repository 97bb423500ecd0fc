package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
)

func TestCall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     dialect.Call
	}{
		{
			"string id", `{"jsonrpc":"2.0","id":"a\u0041\/","method":"GetTask","params":{"id":"t"}}`,
			dialect.Call{ID: []byte(`"a\u0041\/"`), Method: "GetTask", Params: []byte(`{"id":"t"}`)},
		},
		{
			"an integer beyond 64 bits", `{"jsonrpc":"2.0","id":12345678901234567890,"method":"M"}`,
			dialect.Call{ID: []byte(`12345678901234567890`), Method: "M"},
		},
		{"escapes", `{"jsonrpc":"2\u002e0","id":1,"method":"Get\u0054ask"}`, dialect.Call{ID: []byte(`1`), Method: "GetTask"}},
		{"another name", `{"jsonrpc":"2.0","id":1,"method":"ListTaskPushNotificationConfig"}`, dialect.Call{ID: []byte(`1`), Method: "ListTaskPushNotificationConfig"}},
		{"negative id", `{"jsonrpc":"2.0","id":-1,"method":"M","params":null}`, dialect.Call{ID: []byte(`-1`), Method: "M"}},
		{"null id", ` {"jsonrpc" : "2.0", "id" : null, "method":"M"} `, dialect.Call{ID: []byte(`null`), Method: "M"}},
		{"unknown members", `{"x":1,"x":2,"id":1,"method":"M","jsonrpc":"2.0"}`, dialect.Call{ID: []byte(`1`), Method: "M"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := new(dialect.Decoder).Call([]byte(tc.in))
			if err != nil {
				t.Fatalf("Call(%s) = %v", tc.in, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Call(%s) mismatch (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

// Rules 73 and 75, and the decision about batches.
func TestCallRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, id string
		want         error
	}{
		{"nothing", ``, "", a2a.ErrParseError},
		{"not JSON", `{this is not json`, "", a2a.ErrParseError},
		{"trailing data", `{"jsonrpc":"2.0","id":1,"method":"M"}{}`, "", a2a.ErrParseError},
		{"too deep", `{"jsonrpc":"2.0","id":1,"method":"M","params":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, "", a2a.ErrParseError},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"M"}]`, "", a2a.ErrInvalidRequest},
		{"empty batch", `[]`, "", a2a.ErrInvalidRequest},
		{"scalar", `1`, "", a2a.ErrInvalidRequest},
		{"no id and no method", `{"jsonrpc":"2.0"}`, "", a2a.ErrInvalidRequest},
		{"no id and params by position", `{"jsonrpc":"2.0","method":"M","params":[1]}`, "", a2a.ErrInvalidParams},
		{"id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"M"}`, "", a2a.ErrInvalidRequest},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e2,"method":"M"}`, "", a2a.ErrInvalidRequest},
		{"id that is an object", `{"jsonrpc":"2.0","id":{},"method":"M"}`, "", a2a.ErrInvalidRequest},
		{"id that is a truth value", `{"jsonrpc":"2.0","id":true,"method":"M"}`, "", a2a.ErrInvalidRequest},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"M"}`, "", a2a.ErrInvalidRequest},
		{"two ids", `{"jsonrpc":"2.0","id":1,"id":2,"method":"M"}`, "", a2a.ErrInvalidRequest},
		{"two methods", `{"jsonrpc":"2.0","id":1,"method":"M","method":"N"}`, "", a2a.ErrInvalidRequest},
		{"no version", `{"id":1,"method":"M"}`, "1", a2a.ErrInvalidRequest},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"M"}`, "1", a2a.ErrInvalidRequest},
		{"version as a number", `{"jsonrpc":2.0,"id":1,"method":"M"}`, "1", a2a.ErrInvalidRequest},
		{"no method", `{"jsonrpc":"2.0","id":"a","params":{}}`, `"a"`, a2a.ErrInvalidRequest},
		{"method that is no string", `{"jsonrpc":"2.0","id":1,"method":5}`, "1", a2a.ErrInvalidRequest},
		{"params by position", `{"jsonrpc":"2.0","id":1,"method":"M","params":[1]}`, "1", a2a.ErrInvalidParams},
		{"params that are a string", `{"jsonrpc":"2.0","id":1,"method":"M","params":"x"}`, "1", a2a.ErrInvalidParams},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := new(dialect.Decoder).Call([]byte(tc.in))
			if !errors.Is(err, tc.want) {
				t.Errorf("Call(%.60s) = %v, want %v", tc.in, err, tc.want)
			}
			if string(got.ID) != tc.id {
				t.Errorf("Call(%.60s) has id %q, want %q", tc.in, got.ID, tc.id)
			}
		})
	}
}

func TestCallMaxDepth(t *testing.T) {
	t.Parallel()
	in := []byte(`{"jsonrpc":"2.0","id":1,"method":"M","params":{"x":[[]]}}`)
	if _, err := (&dialect.Decoder{MaxDepth: 4}).Call(in); err != nil {
		t.Errorf("depth 4 of 4: %v", err)
	}
	if _, err := (&dialect.Decoder{MaxDepth: 3}).Call(in); !errors.Is(err, a2a.ErrParseError) {
		t.Errorf("depth 4 of 3: %v, want ErrParseError", err)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	// Rule 71 names the methods.
	want := map[string]dialect.Operation{
		"SendMessage":                      dialect.SendMessage,
		"SendStreamingMessage":             dialect.SendStreamingMessage,
		"GetTask":                          dialect.GetTask,
		"ListTasks":                        dialect.ListTasks,
		"CancelTask":                       dialect.CancelTask,
		"SubscribeToTask":                  dialect.SubscribeToTask,
		"CreateTaskPushNotificationConfig": dialect.CreatePushConfig,
		"GetTaskPushNotificationConfig":    dialect.GetPushConfig,
		"ListTaskPushNotificationConfigs":  dialect.ListPushConfigs,
		"DeleteTaskPushNotificationConfig": dialect.DeletePushConfig,
		"GetExtendedAgentCard":             dialect.GetExtendedAgentCard,
	}
	for name, o := range want {
		got, err := dialect.Lookup(name)
		if err != nil || got != o || o.String() != name {
			t.Errorf("Lookup(%q) = %v, %v; String() = %q", name, got, err, o.String())
		}
		wantStream := strings.Contains(name, "Stream") || strings.Contains(name, "Subscribe")
		if o.Streaming() != wantStream || o.Push() != strings.Contains(name, "Push") {
			t.Errorf("%v: Streaming %v, Push %v", o, o.Streaming(), o.Push())
		}
	}
	if got, err := dialect.Lookup("ListTaskPushNotificationConfig"); err != nil || got != dialect.ListPushConfigs {
		t.Errorf("the singular = %v, %v", got, err)
	}
	for _, name := range []string{"", "sendMessage", "message/send", "DoSomething", strings.Repeat("x", 1e5)} {
		_, err := dialect.Lookup(name)
		if !errors.Is(err, a2a.ErrMethodNotFound) || len(err.Error()) > 200 {
			t.Errorf("Lookup(%.20q) = %.200v, want ErrMethodNotFound", name, err)
		}
	}
	if got := dialect.Operation(0).String(); got != "Operation(0)" {
		t.Errorf("the zero Operation is %q", got)
	}
}

// Rule 86.
func TestVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		values []string
		s      dialect.Surface
		ok     bool
	}{
		{[]string{"1.0"}, dialect.RPC, true},
		{[]string{"1.0.1"}, dialect.RPC, true},
		{[]string{" 1.0 "}, dialect.REST, true},
		{[]string{"1.0", "1.0"}, dialect.RPC, true},
		{[]string{"", "1.0"}, dialect.RPC, true},
		{nil, dialect.RPC, false},
		{[]string{""}, dialect.RPC, false},
		{nil, dialect.LenientRPC, true},
		{nil, dialect.REST, true},
		{[]string{""}, dialect.REST, true},
		{[]string{"0.3"}, dialect.LenientRPC, false},
		{[]string{"0.3"}, dialect.REST, false},
		{[]string{"1.1"}, dialect.REST, false},
		{[]string{"1"}, dialect.RPC, false},
		{[]string{"1.00"}, dialect.RPC, false},
		{[]string{"1.0."}, dialect.RPC, false},
		{[]string{"1.0.x"}, dialect.RPC, false},
		{[]string{"1.0.1.2"}, dialect.RPC, false},
		{[]string{"99.0"}, dialect.RPC, false},
		{[]string{"1.0", "0.3"}, dialect.RPC, false},
	}
	for _, tc := range tests {
		err := dialect.Version(tc.values, tc.s)
		if tc.ok {
			if err != nil {
				t.Errorf("Version(%q, %d) = %v", tc.values, tc.s, err)
			}
			continue
		}
		r, supported := dialect.Explain(err, ""), "1.0,0.3" // JSON-RPC serves both at one address
		if tc.s == dialect.REST {
			supported = "1.0"
		}
		if !errors.Is(err, a2a.ErrVersionNotSupported) || r.Meta["supportedVersions"] != supported || r.Code != -32009 {
			t.Errorf("Version(%q, %d) = %v (%+v), want VersionNotSupported with what is supported", tc.values, tc.s, err, r)
		}
	}
	if err := dialect.Version(nil, dialect.RPC); !strings.Contains(err.Error(), "A2A-Version") {
		t.Errorf("a missing version gives %q, want the header named", err)
	}
}
