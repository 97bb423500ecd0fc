package llm

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Provider asks a language model. Its method is called concurrently. It keeps nothing
// between two calls: the Request has everything that the model needs to know.
type Provider interface {
	// Complete asks the model for its next message, and yields that in pieces as they
	// come. The first error is the last item; a ProviderError says whether to try again. A
	// stream that ends without a Finish was cut. Complete must not change r, nor keep any of
	// it once the iterator has ended.
	Complete(ctx context.Context, r *Request) iter.Seq2[*Delta, error]
}

// Request asks a model for its next message.
type Request struct {
	// Model is the name that the provider has for the model; empty leaves it to the
	// provider.
	Model string
	// Messages are the conversation, instructions first.
	Messages []ChatMessage
	// Tools are those that the model may call. Their functions are not called.
	Tools []Tool
	// MaxTokens bounds the answer; zero leaves it to the provider.
	MaxTokens int
	// Temperature is nil where the provider decides.
	Temperature *float64
}

// Delta is a piece of a message. Fields that are zero are not part of it.
type Delta struct {
	// Text continues the text of the message.
	Text string
	// Calls continue calls of tools.
	Calls []CallDelta
	// Parts are the other contents of the message, each complete.
	Parts []*a2a.Part
	// Usage counts the tokens of the message; the last one of a stream is the total.
	Usage *Usage
	// Finish is the reason for the end of the message: FinishStop or another word of the provider.
	Finish string
}

// CallDelta is a piece of a call of a tool.
type CallDelta struct {
	// Index distinguishes the calls of a message.
	Index int
	// ID and Name come once, Arguments in pieces.
	ID, Name, Arguments string
}

// Values of Finish. Providers may have further ones.
const (
	// FinishStop: the message is complete.
	FinishStop = "stop"
	// FinishCalls: the model wants its calls to be made.
	FinishCalls = "tool_calls"
	// FinishLength: the message was cut at the limit of its length.
	FinishLength = "length"
	// FinishFilter: the provider withholds the rest of the message.
	FinishFilter = "content_filter"
)

// Usage counts tokens.
type Usage struct {
	// Input are those of the request, Cached those of them that the provider had in its
	// cache, Output those of the answer.
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cache_read_input_tokens,omitempty"`
	Output int64 `json:"output_tokens"`
}

// Add adds v to u. A nil v changes nothing.
func (u *Usage) Add(v *Usage) {
	if v != nil {
		u.Input, u.Cached, u.Output = u.Input+v.Input, u.Cached+v.Cached, u.Output+v.Output
	}
}

// ProviderError is the failure of a provider.
type ProviderError struct {
	// Status is the HTTP status, or zero.
	Status int
	// RetryAfter is the time before the next try that the provider asks for; zero if it
	// names none.
	RetryAfter time.Duration
	// Final is set if another try would fail in the same way.
	Final bool
	// Message describes the failure for operators of the hub.
	Message string
	// Reason describes it for callers. If empty, they see the status alone.
	Reason string
	// Err is the cause, or nil.
	Err error
}

// Error implements error.
func (e *ProviderError) Error() string {
	switch {
	case e.Status != 0 && e.Message != "":
		return fmt.Sprintf("status %d: %s", e.Status, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("status %d", e.Status)
	case e.Message != "":
		return e.Message
	case e.Err != nil:
		return e.Err.Error()
	}
	return "provider failed"
}

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Err }

// StatusError returns the ProviderError of an HTTP status. It is final unless the status is
// one of those after which another try may succeed.
func StatusError(status int, retryAfter time.Duration, message string) *ProviderError {
	again := status == 408 || status == 409 || status == 425 || status == 429 || status >= 500
	return &ProviderError{Status: status, RetryAfter: retryAfter, Final: !again, Message: message}
}
