package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
)

// Fault is an error that a server returned.
type Fault struct {
	Binding Binding
	// Code is the code of JSON-RPC, HTTP is the HTTP status; 0 if there is none.
	Code, HTTP int
	// Status is the code of gRPC.
	Status  codes.Code
	Message string
	// Details are the detail objects; Data is the whole value that contains them.
	Details []any
	Data    any
	// Raw is the unmodified error object.
	Raw any
	// Legacy is set for v0.3, which allows more statuses.
	Legacy bool
}

// String describes the fault in a few words.
func (f *Fault) String() string {
	var words []string
	switch {
	case f.Binding == GRPC:
		words = append(words, f.Status.String())
	case f.Code != 0:
		words = append(words, fmt.Sprintf("code %d", f.Code))
	default:
		words = append(words, fmt.Sprintf("status %d", f.HTTP))
	}
	if r := f.Reason(); r != "" {
		words = append(words, r)
	}
	return fmt.Sprintf("error %s %q", strings.Join(words, " "), clip(f.Message, 100))
}

// Reason returns the reason of the ErrorInfo in the details, or the empty string.
func (f *Fault) Reason() string {
	for _, d := range f.Details {
		m, _ := d.(map[string]any)
		kind, _ := m["@type"].(string)
		if reason, ok := m["reason"].(string); ok && strings.HasSuffix(kind, "google.rpc.ErrorInfo") {
			return reason
		}
	}
	return ""
}

// Kind is a kind of error, by its name in the specification.
type Kind string

// The kinds of errors (specification §3.3.2, §5.4).
const (
	TaskNotFound        Kind = "TaskNotFoundError"
	TaskNotCancelable   Kind = "TaskNotCancelableError"
	PushNotSupported    Kind = "PushNotificationNotSupportedError"
	Unsupported         Kind = "UnsupportedOperationError"
	ContentType         Kind = "ContentTypeNotSupportedError"
	InvalidAgentAnswer  Kind = "InvalidAgentResponseError"
	NoExtendedCard      Kind = "ExtendedAgentCardNotConfiguredError"
	ExtensionRequired   Kind = "ExtensionSupportRequiredError"
	VersionNotSupported Kind = "VersionNotSupportedError"
	ParseError          Kind = "JSONParseError"
	InvalidRequest      Kind = "InvalidRequestError"
	MethodNotFound      Kind = "MethodNotFoundError"
	InvalidParams       Kind = "InvalidParamsError"
	Internal            Kind = "InternalError"
)

// shape describes a kind on each wire. Lists have the value of 1.0.1 first, followed by that of
// 1.0.0: a caller cannot distinguish the two versions.
type shape struct {
	code   int
	http   []int
	grpc   []codes.Code
	reason string
}

var shapes = map[Kind]shape{
	TaskNotFound:        {-32001, []int{404}, []codes.Code{codes.NotFound}, "TASK_NOT_FOUND"},
	TaskNotCancelable:   {-32002, []int{400, 409}, []codes.Code{codes.FailedPrecondition}, "TASK_NOT_CANCELABLE"},
	PushNotSupported:    {-32003, []int{400}, []codes.Code{codes.FailedPrecondition, codes.Unimplemented}, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	Unsupported:         {-32004, []int{400}, []codes.Code{codes.FailedPrecondition, codes.Unimplemented}, "UNSUPPORTED_OPERATION"},
	ContentType:         {-32005, []int{400, 415}, []codes.Code{codes.InvalidArgument}, "CONTENT_TYPE_NOT_SUPPORTED"},
	InvalidAgentAnswer:  {-32006, []int{500, 502}, []codes.Code{codes.Internal}, "INVALID_AGENT_RESPONSE"},
	NoExtendedCard:      {-32007, []int{400}, []codes.Code{codes.FailedPrecondition}, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"},
	ExtensionRequired:   {-32008, []int{400}, []codes.Code{codes.FailedPrecondition}, "EXTENSION_SUPPORT_REQUIRED"},
	VersionNotSupported: {-32009, []int{400}, []codes.Code{codes.FailedPrecondition, codes.Unimplemented}, "VERSION_NOT_SUPPORTED"},
	ParseError:          {-32700, []int{400}, []codes.Code{codes.InvalidArgument}, ""},
	InvalidRequest:      {-32600, []int{400}, []codes.Code{codes.InvalidArgument}, ""},
	MethodNotFound:      {-32601, []int{404, 405, 501}, []codes.Code{codes.Unimplemented, codes.NotFound}, ""},
	InvalidParams:       {-32602, []int{400, 422}, []codes.Code{codes.InvalidArgument}, ""},
	Internal:            {-32603, []int{500}, []codes.Code{codes.Internal}, ""},
}

// Known reports whether the specification defines the kind.
func (k Kind) Known() bool { _, ok := shapes[k]; return ok }

// Reason returns the reason in the ErrorInfo of the kind; empty for kinds that A2A does not
// define itself.
func (k Kind) Reason() string { return shapes[k].reason }

// Is reports whether f is of the kind. It compares the reasons if both have one, or else the
// JSON-RPC codes, or else the statuses.
func (f *Fault) Is(k Kind) bool {
	s := shapes[k]
	if f.Binding == JSONRPC {
		return f.Code == s.code
	}
	if reason := f.Reason(); reason != "" && s.reason != "" {
		return reason == s.reason
	}
	return f.StatusOf(k)
}

// StatusOf reports whether the kind allows the status of f.
func (f *Fault) StatusOf(k Kind) bool {
	s, old := shapes[k], legacyStatuses[k]
	return s.is(f) || f.Legacy && old.is(f)
}

// Unauthorized reports whether f means missing or insufficient credentials.
func (f *Fault) Unauthorized() bool {
	return f.HTTP == http.StatusUnauthorized || f.HTTP == http.StatusForbidden ||
		f.Binding == GRPC && (f.Status == codes.Unauthenticated || f.Status == codes.PermissionDenied)
}

// RPCFault reads the error of a JSON-RPC answer.
func RPCFault(v any) *Fault {
	f := &Fault{Binding: JSONRPC, Raw: v}
	m, _ := v.(map[string]any)
	f.Code, _ = integer(m["code"])
	f.Message, _ = m["message"].(string)
	f.Data = m["data"]
	f.Details, _ = f.Data.([]any)
	return f
}

// RESTFault reads the body of an HTTP+JSON answer whose status is an error.
func RESTFault(v any, status int) *Fault {
	f := &Fault{Binding: REST, HTTP: status, Raw: v}
	m, _ := v.(map[string]any)
	e, _ := m["error"].(map[string]any)
	f.Message, _ = e["message"].(string)
	f.Data = e["details"]
	f.Details, _ = f.Data.([]any)
	if f.HTTP == 0 {
		f.HTTP, _ = integer(e["code"])
	}
	return f
}

// integer returns a JSON number that is a small integer.
func integer(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil
}
