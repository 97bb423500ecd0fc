// Package openai asks language models at endpoints with the chat completions API of OpenAI:
// those of OpenAI itself, or of any compatible server, including a local one.
//
// # Overview
//
// An Endpoint is an llm.Provider. Completions are streamed, with their usage. Tool calls arrive
// in pieces, by their index. Images are sent as image_url with a data URL, other content in the
// form of package llm. Received images (in the images of a delta, as some servers send them)
// become parts.
//
// # Guarantees
//
// Nothing is read from the environment: the key is in the Endpoint. Errors are returned for a
// stream without a finish_reason, for chunks that are invalid JSON or report an error, and for
// a body that is no event stream. Retry-After and retry-after-ms are passed on. Nothing
// is sent twice: package internal/agents/model retries.
//
// # Non-guarantees
//
// Only the first choice of a completion is read. Reasoning output is dropped.
//
// # Concurrency
//
// An Endpoint does not change and is safe for concurrent use.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/sse"
)

// DefaultURL is the endpoint of OpenAI.
const DefaultURL = "https://api.openai.com/v1/"

const (
	// maxChunk is the maximum size of one chunk, which may contain an image, in bytes.
	maxChunk = 32 << 20
	// maxError is the maximum length of the text of a server's error, in bytes.
	maxError = 64 << 10
)

// endOfStream is the data of the last event.
var endOfStream = []byte("[DONE]")

// Endpoint is an llm.Provider. Its fields must not change once it is in use.
type Endpoint struct {
	// URL is the base URL, without chat/completions. Empty means DefaultURL.
	URL string
	// Key is sent as a bearer token. Empty means no token, for servers that need none.
	Key string
	// Header is added to each request.
	Header http.Header
	// HTTP sends the requests. If nil, http.DefaultClient is used.
	HTTP *http.Client
	// LegacyMaxTokens sends the limit of an answer as max_tokens instead of
	// max_completion_tokens, for older servers.
	LegacyMaxTokens bool
}

var _ llm.Provider = (*Endpoint)(nil)

// Complete implements llm.Provider.
func (e *Endpoint) Complete(ctx context.Context, r *llm.Request) iter.Seq2[*llm.Delta, error] {
	return func(yield func(*llm.Delta, error) bool) {
		resp, err := e.post(ctx, r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		events := sse.NewReader(resp.Body, maxChunk, nil)
		for {
			event, err := events.Next()
			if err == io.EOF || bytes.HasPrefix(event.Data, endOfStream) {
				return
			}
			if err != nil {
				yield(nil, errorOf(ctx, err))
				return
			}
			d, err := deltaOf(event.Data)
			if err != nil {
				yield(nil, err)
				return
			}
			if d != nil && !yield(d, nil) {
				return
			}
		}
	}
}

// post sends a request and returns the answer if it is an event stream.
func (e *Endpoint) post(ctx context.Context, r *llm.Request) (*http.Response, error) {
	req, err := e.newRequest(ctx, r)
	if err != nil {
		return nil, &llm.ProviderError{Message: "write the request: " + err.Error(), Err: err, Final: true}
	}
	resp, err := cmp.Or(e.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	// A server may repeat the credentials in its answer; errors must not show them.
	resp = httpcall.Veil(req, resp)
	if resp.StatusCode >= 400 {
		err = statusError(resp)
	} else {
		err = notAStream(resp)
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (e *Endpoint) newRequest(ctx context.Context, r *llm.Request) (*http.Request, error) {
	q, err := e.completionOf(r)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	address := strings.TrimSuffix(cmp.Or(e.URL, DefaultURL), "/") + "/chat/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	for name, values := range e.Header {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	return req, nil
}

// completionRequest is the body of a request.
type completionRequest struct {
	Model               string            `json:"model"`
	Messages            []llm.ChatMessage `json:"messages"`
	Tools               []toolDefinition  `json:"tools,omitempty"`
	ParallelToolCalls   bool              `json:"parallel_tool_calls,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	Temperature         *float64          `json:"temperature,omitempty"`
	Stream              bool              `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type toolDefinition struct {
	Type     string `json:"type"`
	Function struct {
		Name        string                     `json:"name"`
		Description string                     `json:"description"`
		Parameters  map[string]json.RawMessage `json:"parameters,omitzero"`
	} `json:"function"`
}

func (e *Endpoint) completionOf(r *llm.Request) (*completionRequest, error) {
	q := &completionRequest{Model: r.Model, Temperature: r.Temperature, Stream: true, ParallelToolCalls: len(r.Tools) > 0}
	q.StreamOptions.IncludeUsage = true
	for i := range r.Messages {
		q.Messages = append(q.Messages, *wireOf(&r.Messages[i]))
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		d := toolDefinition{Type: "function"}
		d.Function.Name, d.Function.Description = t.Name, t.Description
		if len(t.Input) > 0 {
			if err := json.Unmarshal(t.Input, &d.Function.Parameters); err != nil {
				return nil, fmt.Errorf("schema of tool %q: %w", t.Name, err)
			}
		}
		q.Tools = append(q.Tools, d)
	}
	if e.LegacyMaxTokens {
		q.MaxTokens = max(r.MaxTokens, 0)
	} else {
		q.MaxCompletionTokens = max(r.MaxTokens, 0)
	}
	return q, nil
}

// wireOf returns a message in the form that endpoints require. An assistant that only calls
// tools has no content, all other messages have some.
func wireOf(m *llm.ChatMessage) *llm.ChatMessage {
	if len(m.Content) > 0 || m.Role == "assistant" {
		return m
	}
	c := *m
	c.Content = llm.ChatText("")
	return &c
}

// notAStream returns an error for a response that is no event stream, such as the page of a
// proxy, or an error in JSON; otherwise nil.
func notAStream(r *http.Response) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "" || kind == "text/event-stream" {
		return nil
	}
	if body, err := io.ReadAll(io.LimitReader(r.Body, maxError)); err == nil {
		var c chunk
		_ = json.Unmarshal(body, &c) // a page has no error
		if err := c.failure(); err != nil {
			return err
		}
	}
	return &llm.ProviderError{Message: "the answer is " + strconv.Quote(kind) + ", not an event stream", Reason: "it answered with something other than a completion"}
}

// chunk is the part of an answer in one event.
type chunk struct {
	Error json.RawMessage `json:"error"`
	// Object is "error" in an error without an object around it.
	Object  string `json:"object"`
	Message string `json:"message"`
	Usage   *struct {
		PromptTokens        int64 `json:"prompt_tokens"`
		CompletionTokens    int64 `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Choices []struct {
		Index        int         `json:"index"`
		FinishReason string      `json:"finish_reason"`
		Delta        choiceDelta `json:"delta"`
	} `json:"choices"`
}

type choiceDelta struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	ToolCalls []struct {
		Index    int              `json:"index"`
		ID       string           `json:"id"`
		Function llm.ChatFunction `json:"function"`
	} `json:"tool_calls"`
	Images json.RawMessage `json:"images"`
}

// deltaOf returns the content of a chunk, or nil if it is empty. A member of another type than
// it should have is ignored, as some servers send such members.
func deltaOf(data []byte) (*llm.Delta, error) {
	var c chunk
	var wrongType *json.UnmarshalTypeError
	if err := rawjson.Unmarshal(data, &c); err != nil && !errors.As(err, &wrongType) {
		return nil, &llm.ProviderError{Message: "a chunk is not JSON: " + err.Error(), Reason: "it answered with invalid data", Err: err}
	}
	if err := c.failure(); err != nil {
		return nil, err
	}
	d := new(llm.Delta)
	if u := c.Usage; u != nil {
		d.Usage = &llm.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, Cached: u.PromptTokensDetails.CachedTokens}
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue
		}
		d.Finish = finishOf(c.Choices[i].FinishReason)
		if err := c.Choices[i].Delta.addTo(d); err != nil {
			return nil, err
		}
	}
	if d.Usage == nil && d.Text == "" && d.Finish == "" && d.Calls == nil && d.Parts == nil {
		return nil, nil
	}
	return d, nil
}

// failure returns the error that the provider has sent in the place of an answer, or of the rest of
// one; nil if there is none. Some send its members without an object around them.
func (c *chunk) failure() error {
	raw := c.Error
	switch {
	case c.Object == "error":
		raw, _ = json.Marshal(c.Message)
	case len(raw) == 0 || string(raw) == "null":
		return nil
	}
	var text string
	var e struct {
		Message, Type string
		Code          json.RawMessage
	}
	if json.Unmarshal(raw, &text) != nil {
		_ = json.Unmarshal(raw, &e) // members of other types are no words
		text = cmp.Or(e.Message, textOf(e.Code), e.Type, string(raw))
	}
	f := new(llm.ProviderError)
	if code, ok := rawjson.Int(e.Code); ok && 400 <= code && code < 600 {
		f = llm.StatusError(int(code), 0, "")
	}
	f.Final = f.Final || final[e.Type] || final[textOf(e.Code)]
	f.Message, f.Reason = clip.Bytes(text, maxError), "it answered with an error: "+clip.Bytes(text, maxReason)
	return f
}

// final are the types and codes of errors that a retry does not change.
var final = map[string]bool{
	"invalid_request_error": true, "authentication_error": true, "permission_error": true, "not_found_error": true,
	"insufficient_quota": true, "context_length_exceeded": true, "content_filter": true, "model_not_found": true,
}

// maxReason is the largest number of bytes of the provider's words that callers see.
const maxReason = 300

func textOf(raw []byte) string {
	s, _ := rawjson.String(raw)
	return s
}

func (c *choiceDelta) addTo(d *llm.Delta) error {
	d.Text = c.Content + c.Refusal
	for _, call := range c.ToolCalls {
		if call.Index < 0 {
			return &llm.ProviderError{Message: fmt.Sprintf("a call has the index %d", call.Index), Reason: "it answered with invalid data"}
		}
		d.Calls = append(d.Calls, llm.CallDelta{Index: call.Index, ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	d.Parts = imagesOf(c.Images)
	return nil
}

func finishOf(reason string) string {
	if reason == "function_call" {
		return llm.FinishCalls
	}
	return reason
}

// imagesOf returns the images of a delta.
func imagesOf(raw json.RawMessage) []*a2a.Part {
	var images llm.ChatContent
	if len(raw) == 0 || json.Unmarshal(raw, &images) != nil {
		return nil
	}
	parts, _, err := llm.FromChat(images)
	if err != nil {
		return nil
	}
	return parts
}

func statusError(r *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxError))
	var answer struct {
		Error struct{ Message, Code, Type string }
	}
	_ = json.Unmarshal(body, &answer) // an answer without these members has no message
	f := llm.StatusError(r.StatusCode, retryAfter(r), cmp.Or(answer.Error.Message, answer.Error.Code, answer.Error.Type))
	f.Err = cmp.Or(err, fmt.Errorf("%s: %s", r.Status, body))
	return f
}

// errorOf converts an error of a request or of its stream.
func errorOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &llm.ProviderError{Message: "the stream was cut", Reason: "the answer was cut off", Err: err}
	}
	return &llm.ProviderError{Message: err.Error(), Err: err}
}

// retryAfter returns the wait that a response demands; zero if none.
func retryAfter(r *http.Response) time.Duration {
	if ms, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := r.Header.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	return backoff.RetryAfter(text, time.Now(), math.MaxInt64)
}
