package llm

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Provider asks a language model. Its method may be called concurrently. It keeps no state
// between calls: the Request contains everything that the model needs.
type Provider interface {
	// Complete asks the model for its next message, and yields its pieces as they arrive. An
	// error ends the iteration; a ProviderError states whether a retry may help. A stream
	// without a Finish is incomplete. Complete must not change r, nor keep any part of it once
	// the iterator has ended.
	Complete(ctx context.Context, r *Request) iter.Seq2[*Delta, error]
}

// Request asks a model for its next message.
type Request struct {
	// Model is the provider's name of the model. Empty selects the provider's default.
	Model string
	// Messages is the conversation, instructions first.
	Messages []ChatMessage
	// Tools are the tools that the model may call. The provider does not call their functions.
	Tools []Tool
	// MaxTokens limits the answer. Zero means the provider's default.
	MaxTokens int
	// Temperature is the sampling temperature. Nil means the provider's default.
	Temperature *float64
}

// Delta is a piece of a message. Fields with zero values are not part of it.
type Delta struct {
	// Text continues the text of the message.
	Text string
	// Calls continue tool calls.
	Calls []CallDelta
	// Parts are the other contents of the message, each complete.
	Parts []*a2a.Part
	// Usage counts the tokens of the message. The last one of a stream is the total.
	Usage *Usage
	// Finish is the reason for the end of the message: FinishStop or another value of the
	// provider.
	Finish string
}

// CallDelta is a piece of a tool call.
type CallDelta struct {
	// Index distinguishes the calls of a message.
	Index int
	// ID and Name arrive once, Arguments in pieces.
	ID, Name, Arguments string
}

// Values of Finish. Providers may have further ones.
const (
	// FinishStop: the message is complete.
	FinishStop = "stop"
	// FinishCalls: the model requests the execution of its calls.
	FinishCalls = "tool_calls"
	// FinishLength: the message was cut off at the length limit.
	FinishLength = "length"
	// FinishFilter: the provider withholds the rest of the message.
	FinishFilter = "content_filter"
)

// Usage counts tokens.
type Usage struct {
	// Input counts the tokens of the request, and Cached those of them that were in the
	// provider's cache. Output counts the tokens of the answer.
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
	// RetryAfter is the wait before the next try that the provider demands; zero if it names
	// none.
	RetryAfter time.Duration
	// Final is set if a retry would fail in the same way.
	Final bool
	// Message describes the failure for operators of the hub.
	Message string
	// Reason describes the failure for callers. If empty, callers see only the status.
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

// StatusError returns the ProviderError of an HTTP status. It is final unless a retry after
// that status may succeed.
func StatusError(status int, retryAfter time.Duration, message string) *ProviderError {
	again := status == 408 || status == 409 || status == 425 || status == 429 || status >= 500
	return &ProviderError{Status: status, RetryAfter: retryAfter, Final: !again, Message: message}
}
