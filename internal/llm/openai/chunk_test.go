package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm"
)

// TestChunks checks chunks as servers that are compatible with OpenAI send them.
func TestChunks(t *testing.T) {
	t.Parallel()
	for chunk, want := range map[string]*llm.Delta{
		`{}`:             nil,
		`{"choices":[]}`: nil,
		`{"error":null,"choices":[{"delta":{"content":"a"}}]}`:                                                {Text: "a"},
		`{"usage":null,"choices":[{"index":0,"finish_reason":null,"delta":{"content":"a"}}]}`:                 {Text: "a"},
		`{"choices":[{"delta":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`:                      {Text: "no", Finish: "stop"},
		`{"choices":[{"delta":{"content":"a","role":7},"logprobs":"x"},{"index":1,"delta":{"content":"b"}}]}`: {Text: "a"},
		`{"choices":[{"delta":{"content":{"text":"x"}},"finish_reason":"length"}]}`:                           {Finish: "length"},
		`{"choices":[{"delta":{},"finish_reason":"function_call"}]}`:                                          {Finish: llm.FinishCalls},
		`{"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`:     {Usage: &llm.Usage{Input: 3, Output: 2, Cached: 1}},
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`: {
			Calls: []llm.CallDelta{{Index: 1, ID: "c", Name: "f", Arguments: "{"}},
		},
	} {
		got, err := deltaOf([]byte(chunk))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", chunk, err, diff)
		}
	}
	for _, chunk := range []string{`{`, `[`, ``, `{"error":"overloaded"}`, `{"error":{"message":"m"}}`, `{"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]}`} {
		var e *llm.ProviderError
		if got, err := deltaOf([]byte(chunk)); !errors.As(err, &e) || e.Final {
			t.Errorf("%q: %+v, %v, want an error after which a retry may help", chunk, got, err)
		}
	}
}

// TestErrorsInAnswers checks that callers see the words of a provider that sends an error in the place
// of an answer or of its rest, and whether a retry may help.
func TestErrorsInAnswers(t *testing.T) {
	t.Parallel()
	for chunk, want := range map[string]llm.ProviderError{
		`{"error":{"message":"overloaded"}}`:                                                                     {Reason: "overloaded"},
		`{"error":"overloaded"}`:                                                                                 {Reason: "overloaded"},
		`{"error":{"code":"busy"}}`:                                                                              {Reason: "busy"},
		`{"error":{"message":"no credits","code":402}}`:                                                          {Reason: "no credits", Status: 402, Final: true},
		`{"error":{"message":"later","code":503.0,"type":null}}`:                                                 {Reason: "later", Status: 503},
		`{"error":{"message":"too long","type":"invalid_request_error"}}`:                                        {Reason: "too long", Final: true},
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                            {Reason: "Overloaded"},
		`{"object":"error","message":"the model is gone","code":500}`:                                            {Reason: "the model is gone"},
		`{"id":"x","choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"upstream"}}`: {Reason: "upstream"},
	} {
		_, err := deltaOf([]byte(chunk))
		body := &http.Response{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(chunk))}
		for _, err := range []error{err, notAStream(body)} {
			var got *llm.ProviderError
			if !errors.As(err, &got) || got.Reason != "it answered with an error: "+want.Reason || got.Status != want.Status || got.Final != want.Final {
				t.Errorf("%s: %+v, want %+v", chunk, err, want)
			}
		}
	}
}

// FuzzChunk checks that any chunk is a delta or an error of the provider.
func FuzzChunk(f *testing.F) {
	for _, chunk := range []string{`{}`, `{"choices":[{"delta":{"content":"a","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}}]}`, `{"error":1}`} {
		f.Add([]byte(chunk))
	}
	f.Fuzz(func(t *testing.T, chunk []byte) {
		d, err := deltaOf(chunk)
		var e *llm.ProviderError
		if err != nil && (d != nil || !errors.As(err, &e)) {
			t.Errorf("%q: %+v, %v", chunk, d, err)
		}
	})
}
