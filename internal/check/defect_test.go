package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// object is a JSON object.
type object = map[string]any

// defect breaks a correct hub: it stands between the hub and the check. Nil functions break
// nothing.
type defect struct {
	// http may answer a request instead of the hub; it then returns true.
	http func(http.ResponseWriter, *http.Request, []byte) bool
	// result changes the result of an operation, or its error, which is one of the SDK. It is
	// called for a stream only if the hub refuses it, and may replace the error by events.
	result func(op wire.Op, params object, result any, err error) (any, error)
	// events changes the events of a stream; the context ends with the stream. Over JSON-RPC of
	// v0.3 they have the shape of that version.
	events func(ctx context.Context, op wire.Op, next sink) sink
	// body changes the body of an answer over HTTP, header its header.
	body   func(body []byte) []byte
	header func(http.Header)
	// push changes a notification, or suppresses it by returning false.
	push func(header http.Header, body []byte) (changed []byte, sent bool)
}

// sink sends events; it returns false after the client has disconnected.
type sink func(event object) bool

// operation is a call, by its name in v1.0.
type operation struct {
	op     wire.Op // unknown operations have other names
	params object
}

// cardOp is the operation that reads the card.
const cardOp wire.Op = "card"

// operations maps the names of v0.3 in JSON-RPC and gRPC, and the routes of HTTP+JSON.
var operations = map[string]wire.Op{
	"message/send": wire.SendMessage, "message/stream": wire.StreamMessage, "tasks/get": wire.GetTask, "tasks/cancel": wire.CancelTask,
	"tasks/resubscribe": wire.SubscribeTask, "TaskSubscription": wire.SubscribeTask, "ListTaskPushNotificationConfig": wire.ListPush,
	"tasks/pushNotificationConfig/set": wire.CreatePush, "tasks/pushNotificationConfig/get": wire.GetPush,
	"tasks/pushNotificationConfig/list": wire.ListPush, "tasks/pushNotificationConfig/delete": wire.DeletePush,

	"POST /message:send": wire.SendMessage, "POST /message:stream": wire.StreamMessage, "GET /tasks": wire.ListTasks,
	"GET /tasks/*": wire.GetTask, "POST /tasks/*:cancel": wire.CancelTask, "POST /tasks/*:subscribe": wire.SubscribeTask,
	"POST /tasks/*/pushNotificationConfigs": wire.CreatePush, "GET /tasks/*/pushNotificationConfigs/*": wire.GetPush,
	"GET /tasks/*/pushNotificationConfigs": wire.ListPush, "DELETE /tasks/*/pushNotificationConfigs/*": wire.DeletePush,
	"GET /extendedAgentCard": wire.ExtendedCard, "GET /.well-known/agent-card.json": cardOp,
}

// opNamed returns the operation with a name of any version; those of v1.0 are its own.
func opNamed(name string) wire.Op { return cmp.Or(operations[name], wire.Op(name)) }

// pathIDs are the ids in the path of a request.
var pathIDs = regexp.MustCompile(`/(tasks|pushNotificationConfigs)/[^/:]+`)

// operationOf returns the operation of a request over HTTP, and over JSON-RPC the id for the
// envelope of the answer.
func operationOf(r *http.Request, body []byte) (o operation, id json.RawMessage) {
	if path := r.URL.Path; path == "/" || strings.HasPrefix(path, "/a2a") {
		q := objectIn(body)
		params, _ := q["params"].(object)
		return operation{opNamed(text(q, "method")), params}, json.RawMessage(compact(q["id"]))
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1"), "/a2a")
	return operation{opNamed(r.Method + " " + pathIDs.ReplaceAllString(path, "/$1/*")), objectIn(body)}, nil
}

// objectIn reads a JSON object; other values are nil.
func objectIn(text []byte) object {
	v, _ := wire.Decode(text)
	o, _ := v.(object)
	return o
}

var (
	reasonIn = regexp.MustCompile(`"reason": ?"(\w+)"`)
	// errUnknown is an error without a reason, as in v0.3.
	errUnknown = errors.New("unknown error")
)

// errorIn returns the SDK's error for the first reason in text.
func errorIn(text []byte) error {
	if m := reasonIn.FindSubmatch(text); m != nil {
		return cmp.Or(dialect.Sentinel(string(m[1])), errUnknown)
	}
	return errUnknown
}

// notifier sends notifications with a defect.
type notifier struct {
	http.RoundTripper
	change func(http.Header, []byte) ([]byte, bool) // may be nil
}

// RoundTrip implements http.RoundTripper.
func (n notifier) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.change == nil {
		return n.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	body, sent := n.change(r.Header, body)
	if !sent {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
	return n.RoundTripper.RoundTrip(r)
}
