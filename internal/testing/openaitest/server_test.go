package openaitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hello = `{"model":"test","messages":[{"role":"user","content":"hi"}]}`

// streamed is hello as a stream with usage.
const streamed = `{"model":"test","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],
	"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}]}`

func post(t *testing.T, s *Server, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer k")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// answerOf is the content that a client reads from a stream.
type answerOf struct {
	Text, Finish string
	Calls        []ToolCall
	Tokens       int
	Done         bool
}

func read(t *testing.T, body io.Reader) answerOf {
	t.Helper()
	var a answerOf
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if data = strings.TrimPrefix(data, " "); !ok || data == "[DONE]" {
			a.Done = a.Done || ok
			continue
		}
		var c struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Index int
						ToolCall
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
			Usage *usage
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("chunk %q: %v", data, err)
		}
		if c.Usage != nil {
			a.Tokens = c.Usage.Total
		}
		for _, choice := range c.Choices {
			a.Text += choice.Delta.Content
			a.Finish += choice.Finish
			for _, d := range choice.Delta.ToolCalls {
				if d.Index == len(a.Calls) {
					a.Calls = append(a.Calls, ToolCall{})
				}
				call := &a.Calls[d.Index]
				call.ID += d.ID
				call.Type += d.Type
				call.Function.Name += d.Function.Name
				call.Function.Arguments += d.Function.Arguments
			}
		}
	}
	return a
}

func TestStreamsComeInPieces(t *testing.T) {
	t.Parallel()
	turn := Turn{Text: "Grüße, 世界! 👋", Calls: []Call{
		CallOf("add", map[string]any{"a": "ü世"}),
		{ID: "mine", Name: "add", Arguments: `{}`},
	}, Prompt: 7, Completion: 3}
	want := answerOf{Text: turn.Text, Finish: "tool_calls", Tokens: 10, Done: true, Calls: []ToolCall{
		{ID: "call_0_0", Type: "function", Function: Function{"add", `{"a":"ü世"}`}},
		{ID: "mine", Type: "function", Function: Function{"add", `{}`}},
	}}
	for _, wire := range []Wire{{}, {Plain: true}, {Chunk: 1, Write: 1}, {Chunk: 1000, Write: 1000}} {
		s := New(t, Config{Wire: wire}, func(*Request) Turn { return turn })
		if diff := cmp.Diff(want, read(t, post(t, s, streamed).Body)); diff != "" {
			t.Errorf("wire %+v (-want +got):\n%s", wire, diff)
		}
	}
}

func TestWholeAnswer(t *testing.T) {
	t.Parallel()
	s := New(t, Config{Key: "k"}, Table(Case{User: "hi", Reply: Turn{Text: "ho"}}))
	var got struct {
		Choices []struct {
			Message Message
			Finish  string `json:"finish_reason"`
		}
	}
	if err := json.NewDecoder(post(t, s, hello).Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Choices) != 1 || got.Choices[0].Message.Text() != "ho" || got.Choices[0].Finish != "stop" {
		t.Errorf("answer %+v", got)
	}
	history := `{"model":"test","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},{"role":"user","content":"hi again"}]}`
	if resp := post(t, s, history); resp.StatusCode != http.StatusOK {
		t.Errorf("a turn that was given is refused: %s", resp.Status)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault Fault
		want  string
	}{
		{"status", Fault{Status: 429, RetryAfter: "2"}, `429 {"error":{`},
		{"own body", Fault{Status: 500, Body: "<html>"}, "500 <html>"},
		{"cut", Fault{Cut: 2}, `200 data: {"choices":[{"delta":{"content":"","role":"assistant"}`},
		{"nonsense", Fault{Nonsense: "{not json"}, "data: {not json\n"},
		{"no choices", Fault{NoChoices: true}, `"choices":[]`},
		{"no end", Fault{NoEnd: true}, `"finish_reason":"stop"`},
		{"error", Fault{Error: "overloaded"}, `"message":"overloaded"`},
	}
	for _, tt := range tests {
		s := New(t, Config{Wire: Wire{Plain: true}}, func(*Request) Turn { return Turn{Text: "some words", Fault: tt.fault} })
		resp := post(t, s, streamed)
		b, _ := io.ReadAll(resp.Body)
		if got := resp.Status[:4] + string(b); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if ended := bytes.Contains(b, []byte("[DONE]")); ended != (tt.fault.Nonsense != "" || tt.fault.NoChoices) {
			t.Errorf("%s: end mark %v in %s", tt.name, ended, b)
		}
	}
}

// A stalled stream stays silent until the client disconnects; a broken stream ends with an
// error.
func TestStallAndBreak(t *testing.T) {
	t.Parallel()
	reached := make(chan int, 10)
	s := New(t, Config{}, func(r *Request) Turn {
		turn := Turn{Text: "some words", Fault: Fault{Break: 2}, At: func(n, _ int) { reached <- n }}
		if r.Attempt == 0 {
			turn.Fault = Fault{Hold: 1, Wait: time.Millisecond}
		}
		return turn
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", strings.NewReader(streamed))
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		<-reached
	}
	cancel()
	_, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		t.Error("the stalled stream ended")
	}
	if _, err := io.ReadAll(post(t, s, streamed).Body); err == nil {
		t.Error("the broken stream ended as if it were whole")
	}
	http.DefaultClient.CloseIdleConnections()
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	user := `{"role":"user","content":"hi"}`
	calls := `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"1"}` }
	tests := []struct{ messages, want string }{
		{``, "messages: [] is too short"},
		{user + `,{"role":"assistant","content":"ho"}`, "the last is one of the assistant"},
		{user + `,` + calls, "the calls a, b have no results"},
		{user + `,` + calls + `,` + result("a") + `,` + user, "messages[3]: the calls b have no results"},
		{user + `,` + calls + `,` + result("a") + `,` + result("a"), "has a result already"},
		{user + `,` + calls + `,` + result("c"), `no call of the turn before has the id "c"`},
		{user + `,` + result("a"), `no call of the turn before`},
		{user + `,{"role":"system","content":"x"}`, `"system" must come first`},
		{`{"role":"user","content":[]}`, "content: [] is too short"},
		{`{"role":"user","content":[{"type":"video"}]}`, "content[0].type"},
		{`{"role":"robot","content":"x"}`, `there is no "robot"`},
		{`{"role":"user"}`, "content: missing"},
		{user + `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}]},` + result("a"), "is not a JSON object"},
		{user + `,{"role":"assistant","content":"never said"},` + user, "the model never said this"},
	}
	for _, tt := range tests {
		s := New(t, Config{Lenient: true}, func(*Request) Turn { return Turn{} })
		resp := post(t, s, `{"model":"test","messages":[`+tt.messages+`]}`)
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(strings.Join(s.Violations(), ""), tt.want) {
			t.Errorf("messages %s: %s %s, want %q", tt.messages, resp.Status, b, tt.want)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{`:                                    "not a JSON object",
		`{"messages":1}`:                       "cannot unmarshal",
		`{"model":"m","messages":[],"best":1}`: "best: there is no such argument",
		`{"model":"","messages":[]}`:           "model:",
		`{"model":"m","stream_options":{},"messages":[{"role":"user","content":"x"}]}`:                                                   "stream_options",
		`{"model":"m","tool_choice":"auto","messages":[{"role":"user","content":"x"}]}`:                                                  "tool_choice",
		`{"model":"m","tools":[],"messages":[{"role":"user","content":"x"}]}`:                                                            "tools: [] is too short",
		`{"model":"m","tools":[{"type":"function","function":{"name":"a b"}}],"messages":[{"role":"user","content":"x"}]}`:               "tools[0].function.name",
		`{"model":"m","tools":[{"type":"function","function":{"name":"a","parameters":{}}}],"messages":[{"role":"user","content":"x"}]}`: "type object",
	} {
		s := New(t, Config{Lenient: true}, func(*Request) Turn { return Turn{} })
		resp := post(t, s, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(strings.Join(s.Violations(), ""), want) {
			t.Errorf("%s: %s, %q, want %q", body, resp.Status, s.Violations(), want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	script := Table(
		Case{User: "two", Round: 0, Try: []Turn{{Text: "first"}}, Reply: Turn{Text: "second"}},
		Case{Result: "done", Round: 1, Reply: Turn{Text: "end"}},
		Case{Model: "other", Round: AnyRound, Reply: Turn{Text: "any"}},
	)
	user := Message{Role: "user", Content: json.RawMessage(`[{"type":"text","text":"one two"}]`)}
	ask := Message{Role: "assistant", ToolCalls: []ToolCall{{ID: "a", Function: Function{Name: "f"}}}}
	result := Message{Role: "tool", ToolCallID: "a", Content: json.RawMessage(`"done"`)}
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{Request{Messages: []Message{user}}, "first"},
		{Request{Messages: []Message{user}, Attempt: 1}, "second"},
		{Request{Messages: []Message{user, ask, result}}, "end"},
		{Request{Model: "other"}, "any"},
	} {
		if got := script(&tt.r); got.Text != tt.want {
			t.Errorf("%+v gets %q, want %q", tt.r, got.Text, tt.want)
		}
	}
	if got := script(&Request{Model: "m"}); got.Fault.Status != 500 {
		t.Errorf("what no case fits gets %+v", got)
	}
	r := Request{Messages: []Message{user, ask, result}, Tools: make([]Tool, 1)}
	r.Tools[0].Function.Name = "f"
	if diff := cmp.Diff([]string{"done"}, r.Results("f")); diff != "" || !r.Has("f") || r.Has("g") || r.Round() != 1 {
		t.Errorf("results: %s, round %d", diff, r.Round())
	}
}
