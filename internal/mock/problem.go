package mock

import (
	"errors"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/dialect"
)

// sentinels are the errors that a script can name, without the ending "Error".
var sentinels = map[string]error{
	"TaskNotFound":                           a2a.ErrTaskNotFound,
	"TaskNotCancelable":                      a2a.ErrTaskNotCancelable,
	"PushNotificationNotSupported":           a2a.ErrPushNotificationNotSupported,
	"UnsupportedOperation":                   a2a.ErrUnsupportedOperation,
	"ContentTypeNotSupported":                a2a.ErrUnsupportedContentType,
	"InvalidAgentResponse":                   a2a.ErrInvalidAgentResponse,
	"ExtendedAgentCardNotConfigured":         a2a.ErrExtendedCardNotConfigured,
	"AuthenticatedExtendedCardNotConfigured": a2a.ErrExtendedCardNotConfigured,
	"ExtensionSupportRequired":               a2a.ErrExtensionSupportRequired,
	"VersionNotSupported":                    a2a.ErrVersionNotSupported,
	"ParseError":                             a2a.ErrParseError,
	"InvalidRequest":                         a2a.ErrInvalidRequest,
	"MethodNotFound":                         a2a.ErrMethodNotFound,
	"InvalidParams":                          a2a.ErrInvalidParams,
	"InternalError":                          a2a.ErrInternalError,
	"Unauthenticated":                        a2a.ErrUnauthenticated,
	"PermissionDenied":                       a2a.ErrUnauthorized,
	"ResourceExhausted":                      apierror.ErrExhausted,
	"Unavailable":                            apierror.ErrUnavailable,
	"DeadlineExceeded":                       apierror.ErrDeadline,
}

// plainName normalises the spelling of an error's name.
func plainName(s string) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(s), "_", ""), "error")
}

// compile returns the error for callers, or a description of the problem in p.
func (p *ProtocolError) compile() (err *coded, problem string) {
	sentinel := a2a.ErrInternalError
	if p.Name != "" {
		sentinel = nil
		for name, s := range sentinels {
			if plainName(name) == plainName(p.Name) {
				sentinel = s
			}
		}
	}
	switch {
	case sentinel == nil:
		return nil, strconv.Quote(clip(p.Name)) + " is not an error of the protocol; use a name such as TaskNotFound"
	case p.Name == "" && p.Code == 0:
		return nil, "needs a name or a code"
	case p.RetryAfter < 0:
		return nil, "retry_after must not be negative"
	}
	message := p.Message
	if message == "" {
		message = sentinel.Error()
	}
	return &coded{&apierror.Error{Err: sentinel, Message: message, RetryAfter: p.RetryAfter}, p.Code}, ""
}

// coded is an error with a JSON-RPC code of its own, unless code is zero.
type coded struct {
	error
	code int
}

func (c *coded) Unwrap() error { return c.error }

// explain returns the report of err for a caller.
func explain(err error) dialect.Report {
	r := dialect.Explain(err, "")
	var c *coded
	if errors.As(err, &c) && c.code != 0 {
		r.Code = c.code
	}
	return r
}

// clip shortens s for a message.
func clip(s string) string {
	return textclip.Runes(strings.TrimSpace(s), 60)
}
