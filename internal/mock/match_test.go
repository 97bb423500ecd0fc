package mock

import (
	"testing"
)

func TestMatcher(t *testing.T) {
	t.Parallel()
	const message = `{"parts":[{"text":"Hello "},{"data":{"a":1,"b":{"c":[1,{"d":2,"e":3}]},"n":null}},{"text":"World"},{"data":[1,2]}]}`
	v, err := decodeJSON([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	input := newMatchInput(v.(object))
	input.turn, input.context = 2, "c"
	for _, tt := range []struct {
		match *Match
		want  bool
	}{
		{nil, true},
		{&Match{}, true},
		{&Match{Contains: "O WORLD"}, true},
		{&Match{Contains: "world!"}, false},
		{&Match{Equals: "Hello World"}, true},
		{&Match{Equals: "hello world"}, false},
		{&Match{Regex: "^Hello .*d$"}, true},
		{&Match{Regex: "^hello"}, false},
		{&Match{Contains: "hello", Regex: "Moon"}, false},
		{&Match{Turn: 2}, true},
		{&Match{Turn: 1}, false},
		{&Match{Context: "c"}, true},
		{&Match{Context: "d"}, false},
		{&Match{Data: object{"a": 1.0}}, true},
		{&Match{Data: object{"a": 2}}, false},
		{&Match{Data: object{"a": "1"}}, false},
		{&Match{Data: object{"n": nil}}, true},
		{&Match{Data: object{"x": nil}}, false},
		{&Match{Data: object{"b": object{"c": []any{1, object{"d": 2}}}}}, true},
		{&Match{Data: object{"b": object{"c": []any{object{"d": 2}}}}}, false},
		{&Match{Data: object{"b": 1}}, false},
		{&Match{Data: object{"b": object{"c": object{}}}}, false},
		{&Match{Data: []any{1, 2}}, true},
		{&Match{Data: []any{2, 1}}, false},
		{&Match{Data: 1}, false},
	} {
		c := &compiler{report: func(key, format string, args ...any) { t.Errorf("%s: "+format, append([]any{key}, args...)...) }}
		if got := c.match(tt.match, "match").matches(input); got != tt.want {
			t.Errorf("match %+v = %v, want %v", tt.match, got, tt.want)
		}
	}
}

// Each error name has its code and is accepted in every spelling.
func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   ProtocolError
		code int
		text string
	}{
		{ProtocolError{Name: "TaskNotFound"}, -32001, "task not found"},
		{ProtocolError{Name: "TaskNotFoundError"}, -32001, "task not found"},
		{ProtocolError{Name: "TASK_NOT_CANCELABLE"}, -32002, "task cannot be canceled"},
		{ProtocolError{Name: "pushnotificationnotsupported", Message: "no"}, -32003, "no"},
		{ProtocolError{Name: "VersionNotSupported"}, -32009, "this version is not supported"},
		{ProtocolError{Name: "InternalError", Code: -32042}, -32042, "internal error"},
		{ProtocolError{Code: -1, Message: "odd"}, -1, "odd"},
		{ProtocolError{Name: "Unavailable"}, -32603, "unavailable"},
	} {
		err, problem := tt.in.compile()
		if problem != "" {
			t.Errorf("%+v: %s", tt.in, problem)
			continue
		}
		if r := explain(err); r.Code != tt.code || r.Message != tt.text {
			t.Errorf("%+v = %d %q, want %d %q", tt.in, r.Code, r.Message, tt.code, tt.text)
		}
	}
	for name := range sentinels {
		err, problem := (&ProtocolError{Name: name}).compile()
		if problem != "" || explain(err).Hidden {
			t.Errorf("%s: %q, or its text is hidden", name, problem)
		}
	}
	if _, problem := (&ProtocolError{Name: "ParseError", RetryAfter: -1}).compile(); problem == "" {
		t.Error("a negative time is taken")
	}
}
