package hubclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// Errors to which a model can react. The text of an error that wraps one of them is shown to
// the model. Any other error aborts the call.
var (
	// ErrNotFound: there is no agent, task or note of that name, or the caller may not see it.
	ErrNotFound = errors.New("not found")
	// ErrRefused: the hub or the agent refuses. The text states the reason.
	ErrRefused = errors.New("refused")
)

// NotFoundf returns an error that wraps ErrNotFound. The model sees its text.
func NotFoundf(format string, a ...any) error {
	return &refusal{kind: ErrNotFound, text: fmt.Sprintf(format, a...)}
}

// Refusef returns an error that wraps ErrRefused. The model sees its text.
func Refusef(format string, a ...any) error {
	return &refusal{kind: ErrRefused, text: fmt.Sprintf(format, a...)}
}

// IsAnswer reports whether the text of an error is the hub's answer to a request. Such a text may
// repeat words of agents and of their cards.
func IsAnswer(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.answered
}

type refusal struct {
	kind error
	text string
	// answered is set if the text is the hub's answer to a request.
	answered bool
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Unwrap returns the kind.
func (r *refusal) Unwrap() error { return r.kind }

func responseError(base string, resp *http.Response, body []byte) error {
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Message == "" {
		return fmt.Errorf("hub %s answers HTTP %s", base, resp.Status)
	}
	return byStatus(resp.StatusCode, answer.Error.Message)
}

// byStatus converts an error of the hub to one for the model or its operator.
func byStatus(status int, text string) error {
	switch {
	case status == http.StatusNotFound:
		return &refusal{ErrNotFound, text, true}
	case status == http.StatusUnauthorized:
		return fmt.Errorf("the hub does not know the caller: %s", text)
	case status == http.StatusServiceUnavailable, status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return fmt.Errorf("%w: the hub answers %d: %s", errLost, status, text)
	case status < 500:
		return &refusal{ErrRefused, text, true}
	}
	return fmt.Errorf("the hub answers %d: %s", status, text)
}

// temporary reports whether a later call may succeed.
func temporary(err error) bool { return err != nil && peer.Passing(err) }

// noTask adds advice to an error that wraps ErrNotFound.
func noTask(err error) error {
	if errors.Is(err, ErrNotFound) {
		return NotFoundf("there is no such task; list_tasks shows those that there are")
	}
	return err
}

// callError converts an error of an A2A call like byStatus.
func callError(err error) error {
	var e *client.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return err
	case errors.Is(err, a2a.ErrTaskNotFound):
		return noTask(ErrNotFound)
	case errors.Is(err, a2a.ErrTaskNotCancelable):
		return Refusef("the task has ended and cannot be canceled")
	}
	return byStatus(e.Status, e.Message)
}
