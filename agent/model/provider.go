package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/llm"
	"github.com/parley-a2a/parley/llm/content"
)

// Provider asks a language model. Its method is called concurrently. It keeps nothing
// between two calls: what a model is to know is in the Request.
type Provider interface {
	// Complete asks the model for its next message, and yields that in pieces as they
	// come. The first error is the last item; a Fault says whether to try again. A stream
	// that ends without a Finish was cut. Nothing of r may be changed, or kept once the
	// iterator has ended.
	Complete(ctx context.Context, r *Request) iter.Seq2[*Delta, error]
}

// Request is what a model is asked with.
type Request struct {
	// Model is the name that the provider has for the model; empty leaves it to the
	// provider.
	Model string
	// Messages are the conversation, instructions first.
	Messages []content.ChatMessage
	// Tools are those that the model may call. Only what describes them counts.
	Tools []llm.Tool
	// MaxTokens bounds the answer; zero leaves it to the provider.
	MaxTokens int
	// Temperature is nil where the provider decides.
	Temperature *float64
}

// Delta is a piece of a message. Zero fields say nothing.
type Delta struct {
	// Text goes on with the text of the message.
	Text string
	// Calls go on with calls of tools.
	Calls []CallDelta
	// Parts are what the model answers with beside text, each whole.
	Parts []*a2a.Part
	// Usage is what the message costs; the last one counts.
	Usage *Usage
	// Finish is why the message ends: FinishStop or another word of the provider.
	Finish string
}

// CallDelta is a piece of a call of a tool.
type CallDelta struct {
	// Index tells the calls of a message apart.
	Index int
	// ID and Name come once, Arguments in pieces.
	ID, Name, Arguments string
}

// What Finish may be. Providers have other words, too.
const (
	// FinishStop: the message is whole.
	FinishStop = "stop"
	// FinishCalls: the model wants its calls to be made.
	FinishCalls = "tool_calls"
	// FinishLength: the message is longer than it may be, and was cut.
	FinishLength = "length"
	// FinishFilter: the provider keeps the rest of the message to itself.
	FinishFilter = "content_filter"
)

// Usage counts tokens.
type Usage struct {
	// Input are those that were read, Cached those of them that the provider had read
	// before, Output those that were written.
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cache_read_input_tokens,omitempty"`
	Output int64 `json:"output_tokens"`
}

func (u *Usage) add(v *Usage) {
	if v != nil {
		u.Input, u.Cached, u.Output = u.Input+v.Input, u.Cached+v.Cached, u.Output+v.Output
	}
}

// Fault is what went wrong at a provider.
type Fault struct {
	// Status is the HTTP status, or zero.
	Status int
	// RetryAfter is when to try again at the earliest, as the provider says; zero if it
	// does not say.
	RetryAfter time.Duration
	// Final says that another try would end the same way.
	Final bool
	// Message says what went wrong, for those who look after the hub.
	Message string
	// Reason says it for callers; empty means what the status says.
	Reason string
	// Err is the cause, or nil.
	Err error
}

// Error implements error.
func (f *Fault) Error() string {
	switch {
	case f.Status != 0 && f.Message != "":
		return fmt.Sprintf("status %d: %s", f.Status, f.Message)
	case f.Status != 0:
		return fmt.Sprintf("status %d", f.Status)
	case f.Message != "":
		return f.Message
	case f.Err != nil:
		return f.Err.Error()
	}
	return "provider failed"
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// FaultOf returns the Fault of a provider that has answered with an HTTP status: whether
// another try makes sense is known from that.
func FaultOf(status int, retryAfter time.Duration, message string) *Fault {
	again := status == 408 || status == 409 || status == 425 || status == 429 || status >= 500
	return &Fault{Status: status, RetryAfter: retryAfter, Final: !again, Message: message}
}

// own returns a Fault whose message is for callers, too.
func own(format string, args ...any) *Fault {
	text := fmt.Sprintf(format, args...)
	return &Fault{Message: text, Reason: text}
}

// What a stream may end with that is no error of the provider.
var (
	errCut     = own("the answer was cut off")
	errNothing = own("the model said nothing")
	errFilter  = &Fault{Message: "the answer was withheld", Reason: "the answer was withheld", Final: true}
)

// outward returns what callers may read of an error.
func outward(err error) string {
	var f *Fault
	switch {
	case !errors.As(err, &f):
		return "it failed"
	case f.Reason != "":
		return f.Reason
	case f.Status == 429:
		return "it takes no more requests now (status 429)"
	case f.Status == 401 || f.Status == 403:
		return fmt.Sprintf("it does not accept the hub's credentials (status %d)", f.Status)
	case f.Status != 0:
		return fmt.Sprintf("it answered with status %d", f.Status)
	}
	return "it could not be reached"
}

// final reports whether a provider need not be tried again.
func final(err error) bool {
	var f *Fault
	return errors.As(err, &f) && f.Final
}

// retryAfter returns how long a provider asks to be left alone.
func retryAfter(err error) time.Duration {
	var f *Fault
	if errors.As(err, &f) {
		return f.RetryAfter
	}
	return 0
}
