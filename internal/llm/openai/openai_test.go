package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/openai"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

// completion is the assembled result of a completion.
type completion struct {
	Text   string
	Calls  map[int]llm.CallDelta
	Finish string
	Usage  *llm.Usage
	Err    error
}

// ask calls an endpoint and assembles the pieces of its answer.
func ask(ctx context.Context, e *openai.Endpoint, r *llm.Request) completion {
	h := completion{Calls: make(map[int]llm.CallDelta)}
	for d, err := range e.Complete(ctx, r) {
		if err != nil {
			h.Err = err
			return h
		}
		h.Text += d.Text
		for _, c := range d.Calls {
			have := h.Calls[c.Index]
			have.Index = c.Index
			have.ID += c.ID
			have.Name += c.Name
			have.Arguments += c.Arguments
			h.Calls[c.Index] = have
		}
		if d.Finish != "" {
			h.Finish = d.Finish
		}
		if d.Usage != nil {
			h.Usage = d.Usage
		}
	}
	return h
}

func user(text string) []llm.ChatMessage {
	return []llm.ChatMessage{{Role: "user", Content: llm.ChatText(text)}}
}

// endpoint returns an endpoint whose connections are closed at the end of the test.
func endpoint(t *testing.T, url string) *openai.Endpoint {
	t.Helper()
	tr := new(http.Transport)
	t.Cleanup(tr.CloseIdleConnections)
	return &openai.Endpoint{URL: url, HTTP: &http.Client{Transport: tr}}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Config{Key: "k"}, openaitest.Table(openaitest.Case{
		User: "hello", Reply: openaitest.Turn{Text: "Grüß dich, Ada!", Prompt: 7, Completion: 5},
	}))
	e := endpoint(t, s.URL)
	e.Key = "k"
	warm := 0.5
	got := ask(t.Context(), e, &llm.Request{Model: "test", Messages: user("hello"), MaxTokens: 9, Temperature: &warm})
	want := completion{Text: "Grüß dich, Ada!", Calls: map[int]llm.CallDelta{}, Finish: "stop", Usage: &llm.Usage{Input: 7, Output: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("completion mismatch (-want +got):\n%s", diff)
	}
	var sent map[string]any
	if err := json.Unmarshal(s.Requests()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"max_completion_tokens": 9.0, "temperature": 0.5, "model": "test", "stream": true} {
		if sent[name] != want {
			t.Errorf("the request has %s %v, want %v", name, sent[name], want)
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Config{}, openaitest.Table(
		openaitest.Case{Reply: openaitest.Turn{Text: "Let me see.", Calls: []openaitest.Call{
			{ID: "c1", Name: "look", Arguments: `{"at":"the moon"}`}, {ID: "c2", Name: "look", Arguments: `{"at":"Ω"}`},
		}}},
		openaitest.Case{Round: 1, Result: "far", Reply: openaitest.Turn{Text: "Both are far."}},
	))
	e := endpoint(t, s.URL)
	r := &llm.Request{Model: "test", Messages: user("how far?"), Tools: []llm.Tool{{
		Name: "look", Description: "Looks at something.", Input: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`),
	}}}
	got := ask(t.Context(), e, r)
	want := map[int]llm.CallDelta{
		0: {ID: "c1", Name: "look", Arguments: `{"at":"the moon"}`},
		1: {Index: 1, ID: "c2", Name: "look", Arguments: `{"at":"Ω"}`},
	}
	if diff := cmp.Diff(want, got.Calls); diff != "" || got.Finish != "tool_calls" || got.Err != nil {
		t.Errorf("completion %+v, calls mismatch (-want +got):\n%s", got, diff)
	}
	turn := llm.ChatMessage{Role: "assistant", Content: llm.ChatText("Let me see.")}
	for i := range 2 {
		c := want[i]
		turn.ToolCalls = append(turn.ToolCalls, llm.ChatToolCall{ID: c.ID, Type: "function", Function: llm.ChatFunction{Name: c.Name, Arguments: c.Arguments}})
	}
	r.Messages = append(r.Messages, turn)
	for i := range 2 {
		r.Messages = append(r.Messages, llm.ChatMessage{Role: "tool", ToolCallID: want[i].ID, Content: llm.ChatText("far")})
	}
	if got := ask(t.Context(), e, r); got.Text != "Both are far." {
		t.Errorf("completion %+v, want the answer", got)
	}
}

// TestFaults checks that faults of an endpoint become errors which state whether a retry may
// help.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault openaitest.Fault
		want  llm.ProviderError
	}{
		"busy":       {openaitest.Fault{Status: 429, RetryAfter: "7"}, llm.ProviderError{Status: 429, RetryAfter: 7 * time.Second}},
		"broken":     {openaitest.Fault{Status: 503}, llm.ProviderError{Status: 503}},
		"refused":    {openaitest.Fault{Status: 400}, llm.ProviderError{Status: 400, Final: true}},
		"a page":     {openaitest.Fault{Status: 502, Body: "<html>bad gateway</html>"}, llm.ProviderError{Status: 502}},
		"connection": {openaitest.Fault{Break: 2}, llm.ProviderError{}},
		"nonsense":   {openaitest.Fault{Nonsense: "{nonsense"}, llm.ProviderError{}},
		"error":      {openaitest.Fault{Error: "overloaded"}, llm.ProviderError{Status: 502}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openaitest.New(t, openaitest.Config{}, func(*openaitest.Request) openaitest.Turn {
				return openaitest.Turn{Text: "a long enough answer", Fault: tt.fault}
			})
			got := ask(t.Context(), endpoint(t, s.URL), &llm.Request{Model: "test", Messages: user("hello")})
			var f *llm.ProviderError
			if !errors.As(got.Err, &f) {
				t.Fatalf("completion %+v, want a fault", got)
			}
			if f.Status != tt.want.Status || f.RetryAfter != tt.want.RetryAfter || f.Final != tt.want.Final {
				t.Errorf("fault %+v, want %+v", f, tt.want)
			}
		})
	}
}

// TestCut checks that an answer which ends without a reason has no Finish.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]openaitest.Fault{
		"cut": {Cut: 2}, "no finish": {NoFinish: true}, "no choices": {NoChoices: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openaitest.New(t, openaitest.Config{}, func(*openaitest.Request) openaitest.Turn {
				return openaitest.Turn{Text: "a long enough answer", Fault: fault}
			})
			got := ask(t.Context(), endpoint(t, s.URL), &llm.Request{Model: "test", Messages: user("hello")})
			if got.Finish != "" {
				t.Errorf("completion %+v, want one without a reason for its end", got)
			}
		})
	}
}

// TestSilence checks that a request ends with its context, with the cause of that context.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Config{}, func(*openaitest.Request) openaitest.Turn {
		return openaitest.Turn{Text: "a long enough answer", Fault: openaitest.Fault{Hold: 2}}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	bored := errors.New("bored")
	got := completion{}
	for d, err := range endpoint(t, s.URL).Complete(ctx, &llm.Request{Model: "test", Messages: user("hello")}) {
		if err != nil {
			got.Err = err
			break
		}
		got.Text += d.Text
		cancel(bored)
	}
	if !errors.Is(got.Err, bored) || got.Text == "" {
		t.Errorf("completion %+v, want a piece and the cause", got)
	}
}

func TestUnreachableEndpoint(t *testing.T) {
	t.Parallel()
	got := ask(t.Context(), endpoint(t, "http://127.0.0.1:1/v1"), &llm.Request{Model: "test", Messages: user("hello")})
	var f *llm.ProviderError
	if !errors.As(got.Err, &f) || f.Final || f.Status != 0 || strings.Contains(f.Reason, "127.0.0.1") {
		t.Errorf("error %v, want a fault that may pass", got.Err)
	}
}
