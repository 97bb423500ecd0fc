package acts

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func decode(t testing.TB, s string) any {
	t.Helper()
	v, err := wire.Decode([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, got string // got "-" is nothing
		err       string // empty if it matches
	}{
		{`"a"`, `"a"`, ""},
		{`"a"`, `"b"`, `the answer is "b", want "a"`},
		{`"a"`, `-`, `the answer is absent, want "a"`},
		{`1`, `1.0`, ""},
		{`1`, `"1"`, `the answer is "1", want 1`},
		{`null`, `null`, ""},
		{`null`, `-`, "absent"},
		{`true`, `true`, ""},
		{`{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 2}}`, ""},
		{`{"a": {"b": 1}}`, `{"a": {"b": 2}}`, "a.b is 2, want 1"},
		{`{"a": {"b": 1}}`, `{}`, "a is absent, want an object with the field b"},
		{`{"a": {"b": {"absent": true}}}`, `{}`, ""},
		{`[{"a": 1}]`, `[{"a": 1}, {"a": 2}]`, ""},
		{`[{"a": 1}, {"a": 2}]`, `[{"a": 1}]`, "[1] is absent"},
		{`[1]`, `{}`, "want an array"},
		{`{"type": "string"}`, `"x"`, ""},
		{`{"type": "number"}`, `"x"`, `is "x", want number`},
		{`{"type": "boolean"}`, `false`, ""},
		{`{"type": "array"}`, `[]`, ""},
		{`{"type": "object"}`, `{}`, ""},
		{`{"type": "null"}`, `null`, ""},
		{`{"type": "string"}`, `-`, "absent"},
		{`{"type": {"type": "string"}}`, `{"type": "x"}`, ""},
		{`{"exists": true}`, `null`, ""},
		{`{"exists": true}`, `-`, "want present"},
		{`{"absent": true}`, `-`, ""},
		{`{"absent": true}`, `null`, "want absent"},
		{`{"contains": "b"}`, `"abc"`, ""},
		{`{"contains": "x"}`, `"abc"`, `want contains "x"`},
		{`{"contains": "b"}`, `["b"]`, "want contains"},
		{`{"starts_with": "a", "ends_with": "c"}`, `"abc"`, ""},
		{`{"starts_with": "b"}`, `"abc"`, `want begins with "b"`},
		{`{"ends_with": "b"}`, `"abc"`, `want ends with "b"`},
		{`{"matches": "^a.c$"}`, `"abc"`, ""},
		{`{"matches": "^b"}`, `"abc"`, "want text that matches ^b"},
		{`{"matches": "^a"}`, `1`, "want text that matches"},
		{`{"gte": 2, "lte": 2}`, `2`, ""},
		{`{"gt": 2}`, `2`, "want > 2"},
		{`{"lt": 2}`, `1.5`, ""},
		{`{"lt": 2}`, `"1"`, "want < 2"},
		{`{"count": 2}`, `[1, 2]`, ""},
		{`{"count": 2}`, `"äö"`, ""},
		{`{"count_gte": 1}`, `[]`, "want length >= 1"},
		{`{"count_lte": 1}`, `[1]`, ""},
		{`{"count": 0}`, `-`, "absent"},
		{`{"count": 0}`, `{}`, "want length 0"},
		{`{"one_of": ["a", {"b": 1}]}`, `{"b": 1}`, ""},
		{`{"one_of": ["a", "b"]}`, `"c"`, `want one of ["a","b"]`},
		{`{"any_of": [{"absent": true}, {"type": "array", "count": 0}]}`, `[]`, ""},
		{`{"any_of": [{"absent": true}, {"type": "array", "count": 0}]}`, `-`, ""},
		{`{"any_of": [{"a": 1}, {"b": 1}]}`, `{"c": 1}`, "want one of"},
		{`{"all_of": [{"type": "string"}, {"contains": "a"}]}`, `"a"`, ""},
		{`{"all_of": [{"type": "string"}, {"contains": "b"}]}`, `"a"`, "contains"},
		{`{"not": "a"}`, `"b"`, ""},
		{`{"not": {"type": "string"}}`, `"b"`, `want not {"type":"string"}`},
		{`{"items": {"a": 1}}`, `[{"a": 1}, {"a": 1}]`, ""},
		{`{"items": {"a": 1}}`, `[{"a": 1}, {"a": 2}]`, "[1].a is 2, want 1"},
		{`{"items": [{"a": 1}]}`, `[{"a": 1}, {"a": 2}]`, ""},
		{`{"items": {}}`, `{}`, "want an array"},
		{`{"count_gte": 1, "items": {"type": "string"}}`, `["a"]`, ""},
	} {
		got := value{}
		if tt.got != "-" {
			got = value{decode(t, tt.got), true}
		}
		err := match("", decode(t, tt.want), got)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("match(%s, %s) = %v, want %q", tt.want, tt.got, err, tt.err)
		}
	}
}

func TestMatchUnclear(t *testing.T) {
	t.Parallel()
	err := match("", decode(t, `{"matches": "(?!x)"}`), value{"y", true})
	if o, _ := outcomeOf(err, wire.NewRedactor()); o != Error {
		t.Errorf("an expression that cannot be compiled is %v (%v), want an error of the test", o, err)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	root := decode(t, `{"a": [{"b": [1, 2]}, {"b": [3]}, {"c": 4}], "d": {"e": null}}`)
	for path, want := range map[string]string{
		"":          `[` + shown(root) + `]`,
		"a[*].b[*]": `[1,2,3]`,
		"a[0].b":    `[[1,2]]`,
		"a[0].b[1]": `[2]`,
		"a[7].b":    `null`,
		"a[*].c":    `[4]`,
		"d.e":       `[null]`,
		"d.x":       `null`,
		"d[0]":      `null`,
	} {
		got, err := Lookup(root, path)
		if err != nil || shown(got) != want {
			t.Errorf("Lookup(%q) = %s, %v; want %s", path, shown(got), err, want)
		}
	}
	for _, path := range []string{"a[x]", "a[-1]", "a[0"} {
		if got, err := Lookup(root, path); err == nil && path != "a[0" {
			t.Errorf("Lookup(%q) = %s, want an error", path, shown(got))
		}
	}
	nested := decode(t, `[[1, 2], [3]]`)
	if got, err := Lookup(nested, "[0][1]"); err != nil || shown(got) != "[2]" {
		t.Errorf("Lookup([0][1]) = %s, %v", shown(got), err)
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	root := decode(t, `{"status": {"state": "DONE"}, "n": 3}`)
	for s, want := range map[string]bool{
		"status.state == DONE":       true,
		`status.state == "DONE"`:     true,
		"status.state != DONE":       false,
		"status.state in [A, DONE]":  true,
		"status.state in ['A', 'B']": false,
		"n == 3":                     true,
		"missing == x":               false,
		"missing != x":               true,
	} {
		c, err := parseCondition(s)
		if err != nil {
			t.Errorf("parseCondition(%q): %v", s, err)
			continue
		}
		if got, err := c.holds(root); got != want || err != nil {
			t.Errorf("%q holds: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "a", "a = b", "a in b", "a =="} {
		if c, err := parseCondition(s); err == nil {
			t.Errorf("parseCondition(%q) = %+v, want an error", s, c)
		}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	var s Scope
	s.Keep("task", decode(t, `{"id": "t-1", "status": {"state": "S"}, "n": 2}`))
	got, err := s.Fill([]any{"{{task.status.state}}", "a {{task.id}}", "{{task.n}}", "{{task.x}}", "{{other.x}}", "{{task.id.x}}"})
	want := []any{"S", "a t-1", decode(t, "2"), "", "", ""}
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("Fill: %v (-want +got):\n%s", err, diff)
	}
	if first, second := s.Value("$uuid"), s.Value("$uuid"); first == second || first == nil {
		t.Errorf("two values of $uuid: %v and %v", first, second)
	}
	if v := s.Value("task.x"); v != nil {
		t.Errorf("Value(task.x) = %v, want nil", v)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	s := &scope{
		steps: map[string]*answer{"send": {
			root: decode(t, `{"task": {"id": "t-1", "n": 2}}`), headers: decode(t, `{"etag": "e"}`), status: 200,
		}},
		captured: map[string]any{"send.taskId": "t-2"},
		own:      map[string]string{"base": "http://{{host}}", "host": "own", "loop": "{{loop}}"},
		hints:    map[string]string{"host": "hint", "hook": "h"},
		env:      func(name string) (string, bool) { return "from the environment", name == "SET" },
	}
	for in, want := range map[string]any{
		"plain":                    "plain",
		"{{send.taskId}}":          "t-2",
		"{{send.task.id}}":         "t-1",
		"{{send.response.task.n}}": decode(t, "2"),
		"n={{send.task.n}}":        "n=2",
		"{{send.headers.etag}}":    "e",
		"{{send.status}}":          200,
		"{{ base }}/x":             "http://own/x",
		"{{hook}}":                 "h",
		"{{env.SET}}":              "from the environment",
	} {
		got, err := s.fill(in)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("fill(%q): %v (-want +got):\n%s", in, err, diff)
		}
	}
	for _, in := range []string{"{{nothing}}", "x {{env.UNSET}}", "{{loop}}", "{{send.task.x}}", "{{send.response.y}}"} {
		if got, err := s.fill([]any{map[string]any{"a": in}}); err == nil {
			t.Errorf("fill(%q) = %v, want an error", in, got)
		}
	}
	a, errA := s.fill("{{$uuid}}")
	b, errB := s.fill("{{$uuid}}")
	if a == b || errors.Join(errA, errB) != nil {
		t.Errorf("two uuids: %v, %v", a, b)
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op       wire.Op
		in, want string
	}{
		{
			wire.SendMessage, `{"taskId": "t", "contextId": "c", "message": {"messageId": "m", "contextId": "own", "parts": []}}`,
			`{"message":{"contextId":"own","messageId":"m","parts":[],"taskId":"t"}}`,
		},
		{
			wire.SendMessage, `{"message": {"messageId": "m", "parts": [{"text": "x"}, {"file": {"raw": "aGk=", "name": "n", "mediaType": "a/b"}, "metadata": {}}]}}`,
			`{"message":{"messageId":"m","parts":[{"text":"x"},{"filename":"n","mediaType":"a/b","metadata":{},"raw":"aGk="}]}}`,
		},
		{wire.CreatePush, `{"taskId": "t", "pushNotificationConfig": {"url": "u"}}`, `{"taskId":"t","url":"u"}`},
		{wire.GetPush, `{"taskId": "t", "configId": "c"}`, `{"id":"c","taskId":"t"}`},
		{wire.ListTasks, `{"cursor": "x", "pageSize": 1}`, `{"pageSize":1,"pageToken":"x"}`},
		{wire.GetTask, `{"id": "t"}`, `{"id":"t"}`},
	} {
		in := decode(t, tt.in).(map[string]any)
		if got := shown(translate(tt.op, in)); got != tt.want {
			t.Errorf("translate(%s, %s) = %s, want %s", tt.op, tt.in, got, tt.want)
		}
		if shown(in) != shown(decode(t, tt.in)) {
			t.Errorf("translate changed its input to %s", shown(in))
		}
	}
	generated := translate(wire.SendMessage, decode(t, `{"message": {"role": "ROLE_USER"}}`).(map[string]any))
	if id := text(generated, "message.messageId"); id == "" {
		t.Error("the message got no id")
	}
}

func TestExpectFault(t *testing.T) {
	t.Parallel()
	f := &wire.Fault{Binding: wire.JSONRPC, Code: -32001, Message: "no such task"}
	f.Details = decode(t, `[{"@type": "x/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "metadata": {"taskId": "t"}}]`).([]any)
	f.Data = f.Details
	for want, err := range map[string]string{
		`{"error_type": "TaskNotFoundError"}`:                            "",
		`{"code": "TaskNotFoundError", "message": {"contains": "task"}}`: "",
		`{"code": {"one_of": ["InternalError", "TaskNotFoundError"]}}`:   "",
		`{"code": -32001}`:                                          "",
		`{"details": {"reason": "TASK_NOT_FOUND"}}`:                 "",
		`{"details": {"taskId": "t"}}`:                              "",
		`{"data": {"type": "array", "count": 1}}`:                   "",
		`{"error_type": "InternalError"}`:                           "want InternalError",
		`{"code": {"one_of": ["InternalError", "JSONParseError"]}}`: "want one of",
		`{"code": -32002}`:                                          "error.code is -32001, want -32002",
		`{"message": {"contains": "x"}}`:                            "error.message",
		`{"details": {"reason": "X"}}`:                              "error.details",
		`{"data": {"type": "object"}}`:                              "error.data",
		`{"error_type": "NoSuchError"}`:                             "unknown error type",
		`{"error_type": "ExtendedCardNotSupportedError"}`:           "want ExtendedCardNotSupportedError",
	} {
		got := expectFault(decode(t, want).(map[string]any), f)
		if (got == nil) != (err == "") || got != nil && !strings.Contains(got.Error(), err) {
			t.Errorf("expectFault(%s) = %v, want %q", want, got, err)
		}
	}
	if err := expectFault(map[string]any{}, nil); err == nil {
		t.Error("no error is taken for one")
	}
}

func TestMonotonic(t *testing.T) {
	t.Parallel()
	for states, want := range map[string]string{
		"SUBMITTED WORKING WORKING COMPLETED":   "",
		"WORKING INPUT_REQUIRED WORKING FAILED": "",
		"SUBMITTED COMPLETED":                   "",
		"WORKING SUBMITTED":                     "events[1] is TASK_STATE_SUBMITTED",
		"WORKING COMPLETED WORKING":             "events[2] is TASK_STATE_WORKING, want a state that can follow TASK_STATE_COMPLETED",
		"INPUT_REQUIRED SUBMITTED":              "events[1]",
	} {
		var events []wire.Event
		for _, s := range strings.Fields(states) {
			events = append(events, wire.Event{Value: decode(t, `{"statusUpdate": {"status": {"state": "TASK_STATE_`+s+`"}}}`)})
		}
		err := monotonic(events)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("monotonic(%s) = %v, want %q", states, err, want)
		}
	}
}
