package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/llm"
)

// publicError returns a ProviderError whose message callers may see as well.
func publicError(format string, args ...any) *llm.ProviderError {
	text := fmt.Sprintf(format, args...)
	return &llm.ProviderError{Message: text, Reason: text}
}

// Failures of a stream without an error of the provider.
var (
	errCut     = publicError("the answer was cut off")
	errNothing = publicError("the model returned nothing")
	errFilter  = &llm.ProviderError{Message: "the answer was withheld", Reason: "the answer was withheld", Final: true}
)

// publicText returns the text of an error for callers.
func publicText(err error) string {
	var e *llm.ProviderError
	switch {
	case !errors.As(err, &e):
		return "it failed"
	case e.Reason != "":
		return e.Reason
	case e.Status == 429:
		return "rate limit reached (status 429)"
	case e.Status == 401 || e.Status == 403:
		return fmt.Sprintf("it does not accept the hub's credentials (status %d)", e.Status)
	case e.Status != 0:
		return fmt.Sprintf("it answered with status %d", e.Status)
	}
	return "it could not be reached"
}

// final reports whether a retry would fail in the same way.
func final(err error) bool {
	var e *llm.ProviderError
	return errors.As(err, &e) && e.Final
}

// retryAfter returns the wait that a provider demands before a retry.
func retryAfter(err error) time.Duration {
	var e *llm.ProviderError
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
