// Package openai asks language models at endpoints with the chat completions API of OpenAI:
// those of OpenAI itself, or of any compatible server, including a local one.
//
// # Overview
//
// An Endpoint is an llm.Provider that uses the official SDK. Completions are streamed, with
// their usage. Tool calls arrive in pieces, by their index. Images are sent as image_url with a
// data URL, other content in the form of package llm. Received images (in the images of a
// delta, as some servers send them) become parts.
//
// # Guarantees
//
// Nothing is read from the environment: the key is in the Endpoint. Errors are returned for a
// stream without a finish_reason, for chunks that are invalid JSON or report an error, and for
// a body that is no event stream. Retry-After and retry-after-ms are passed on. The SDK does
// not retry by itself: package internal/agents/model does.
//
// # Non-guarantees
//
// Only the first choice of a completion is read. Reasoning output is dropped.
//
// # Concurrency
//
// An Endpoint does not change and is safe for concurrent use.
//
// # Testing
//
// URL may be that of a test server.
package openai

import (
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
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/llm"
)

// DefaultURL is the endpoint of OpenAI.
const DefaultURL = "https://api.openai.com/v1/"

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
		params, err := e.params(r)
		if err != nil {
			yield(nil, &llm.ProviderError{Message: "write the request: " + err.Error(), Err: err, Final: true})
			return
		}
		service := sdk.NewChatCompletionService(e.options()...)
		var response *http.Response
		stream := service.NewStreaming(ctx, *params, option.WithResponseInto(&response))
		defer stream.Close()
		if err := stream.Err(); err != nil {
			yield(nil, faultOf(ctx, err))
			return
		}
		if f := notAStream(response); f != nil {
			yield(nil, f)
			return
		}
		for stream.Next() {
			chunk := stream.Current()
			d, err := deltaOf(&chunk)
			if err != nil {
				yield(nil, err)
				return
			}
			if d != nil && !yield(d, nil) {
				return
			}
		}
		if err := stream.Err(); err != nil {
			yield(nil, faultOf(ctx, err))
		}
	}
}

// options returns the SDK options for requests to the endpoint.
func (e *Endpoint) options() []option.RequestOption {
	base := cmp.Or(e.URL, DefaultURL)
	if !strings.HasSuffix(base, "/") {
		base += "/"
	}
	opts := []option.RequestOption{option.WithBaseURL(base), option.WithMaxRetries(0), option.WithMiddleware(veil)}
	if e.Key != "" {
		opts = append(opts, option.WithAPIKey(e.Key))
	}
	if e.HTTP != nil {
		opts = append(opts, option.WithHTTPClient(e.HTTP))
	}
	for name, values := range e.Header {
		for _, v := range values {
			opts = append(opts, option.WithHeaderAdd(name, v))
		}
	}
	return opts
}

// veil removes credentials that a server repeats in its response, so that errors do not show
// them.
func veil(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(r)
	return httpcall.Veil(r, resp), err
}

// params returns the body of a request.
func (e *Endpoint) params(r *llm.Request) (*sdk.ChatCompletionNewParams, error) {
	p := &sdk.ChatCompletionNewParams{
		Model:         r.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	for i := range r.Messages {
		b, err := json.Marshal(wireOf(&r.Messages[i]))
		if err != nil {
			return nil, err
		}
		p.Messages = append(p.Messages, param.Override[sdk.ChatCompletionMessageParamUnion](json.RawMessage(b)))
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		f := shared.FunctionDefinitionParam{Name: t.Name, Description: sdk.String(t.Description)}
		if len(t.Input) > 0 {
			if err := json.Unmarshal(t.Input, &f.Parameters); err != nil {
				return nil, fmt.Errorf("schema of tool %q: %w", t.Name, err)
			}
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	if len(p.Tools) > 0 {
		p.ParallelToolCalls = sdk.Bool(true)
	}
	if r.MaxTokens > 0 {
		if e.LegacyMaxTokens {
			p.MaxTokens = sdk.Int(int64(r.MaxTokens))
		} else {
			p.MaxCompletionTokens = sdk.Int(int64(r.MaxTokens))
		}
	}
	if r.Temperature != nil {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	return p, nil
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
// proxy; otherwise nil.
func notAStream(r *http.Response) *llm.ProviderError {
	if r == nil {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "" || kind == "text/event-stream" {
		return nil
	}
	return &llm.ProviderError{Message: "the answer is " + strconv.Quote(kind) + ", not an event stream", Reason: "it answered with something else than a completion"}
}

// deltaOf returns the content of a chunk, or nil if it is empty.
func deltaOf(c *sdk.ChatCompletionChunk) (*llm.Delta, error) {
	d := new(llm.Delta)
	if c.JSON.Usage.Valid() {
		d.Usage = &llm.Usage{
			Input: c.Usage.PromptTokens, Output: c.Usage.CompletionTokens, Cached: c.Usage.PromptTokensDetails.CachedTokens,
		}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		d.Text = choice.Delta.Content + choice.Delta.Refusal
		d.Finish = finishOf(choice.FinishReason)
		for _, call := range choice.Delta.ToolCalls {
			if call.Index < 0 {
				return nil, &llm.ProviderError{Message: fmt.Sprintf("a call has the index %d", call.Index), Reason: "it answered with nonsense"}
			}
			d.Calls = append(d.Calls, llm.CallDelta{
				Index: int(call.Index), ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
		d.Parts = imagesOf(choice.Delta.RawJSON())
	}
	if d.Usage == nil && d.Text == "" && d.Finish == "" && d.Calls == nil && d.Parts == nil {
		return nil, nil
	}
	return d, nil
}

func finishOf(reason string) string {
	if reason == "function_call" {
		return llm.FinishCalls
	}
	return reason
}

// imagesOf returns the images of a delta.
func imagesOf(raw string) []*a2a.Part {
	if !strings.Contains(raw, `"images"`) {
		return nil
	}
	var d struct {
		Images llm.ChatContent `json:"images"`
	}
	if json.Unmarshal([]byte(raw), &d) != nil {
		return nil
	}
	parts, _, err := llm.FromChat(d.Images)
	if err != nil {
		return nil
	}
	return parts
}

// faultOf converts an error of a request.
func faultOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var api *sdk.Error
	switch {
	case errors.As(err, &api):
		f := llm.StatusError(api.StatusCode, retryAfter(api.Response), cmp.Or(api.Message, api.Code, api.Type))
		f.Err = err
		return f
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &llm.ProviderError{Message: "the stream was cut", Reason: "the answer was cut off", Err: err}
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &llm.ProviderError{Message: "a chunk is no JSON: " + err.Error(), Reason: "it answered with nonsense", Err: err}
	}
	return &llm.ProviderError{Message: err.Error(), Err: err}
}

// retryAfter returns the wait that a response demands; zero if none.
func retryAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	if ms, err := strconv.ParseFloat(r.Header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := r.Header.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	return backoff.RetryAfter(text, time.Now(), math.MaxInt64)
}
