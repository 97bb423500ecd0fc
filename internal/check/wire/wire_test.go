package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
)

// answering answers each request with f.
type answering func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if res := f(r); res != nil {
		return res, nil
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func response(status int, mediaType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body))}
}

func always(status int, mediaType, body string) answering {
	return func(*http.Request) *http.Response { return response(status, mediaType, body) }
}

func caller(t *testing.T, i Interface, o Options) Caller {
	t.Helper()
	c, err := New(t.Context(), i, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	rpc  = Interface{Binding: JSONRPC, Version: "1.0", URL: "http://sut.test/rpc"}
	rest = Interface{Binding: REST, Version: "1.0", URL: "http://sut.test/rest/"}
)

func TestRequests(t *testing.T) {
	t.Parallel()
	tenant := rest
	tenant.Tenant = "a/b"
	id := map[string]any{"id": "x/1", "historyLength": 2}
	hook := map[string]any{"taskId": "t", "id": "c"}
	for _, tt := range []struct {
		name  string
		iface Interface
		r     Request
		want  string
	}{
		{"rpc", rpc, Request{Op: GetTask, Params: map[string]any{"id": "t"}, ID: 7}, `POST /rpc 1.0 {"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t"}}`},
		{"rpc without version", rpc, Request{Op: GetTask, ID: "a", Version: NoVersion}, `POST /rpc  {"jsonrpc":"2.0","id":"a","method":"GetTask"}`},
		{"rpc with a tenant", Interface{Binding: JSONRPC, Version: "1.0", URL: rpc.URL, Tenant: "n"}, Request{Op: ListTasks, ID: 1}, `POST /rpc 1.0 {"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"tenant":"n"}}`},
		{"get", rest, Request{Op: GetTask, Params: id}, `GET /rest/tasks/x%2F1?historyLength=2 1.0 `},
		{"tenant", tenant, Request{Op: GetTask, Params: id, Version: "9.9"}, `GET /rest/a%2Fb/tasks/x%2F1?historyLength=2 9.9 `},
		{"send", rest, Request{Op: SendMessage, Params: map[string]any{"message": 1}}, `POST /rest/message:send 1.0 {"message":1}`},
		{"stream", rest, Request{Op: StreamMessage, Params: map[string]any{"message": 1}}, `POST /rest/message:stream 1.0 {"message":1}`},
		{"list", rest, Request{Op: ListTasks, Params: map[string]any{"contextId": "a b", "includeArtifacts": true}}, `GET /rest/tasks?contextId=a+b&includeArtifacts=true 1.0 `},
		{"cancel", rest, Request{Op: CancelTask, Params: map[string]any{"id": "t"}}, `POST /rest/tasks/t:cancel 1.0 `},
		{"create", rest, Request{Op: CreatePush, Params: map[string]any{"taskId": "t", "url": "u"}}, `POST /rest/tasks/t/pushNotificationConfigs 1.0 {"url":"u"}`},
		{"hooks", rest, Request{Op: ListPush, Params: map[string]any{"taskId": "t"}}, `GET /rest/tasks/t/pushNotificationConfigs 1.0 `},
		{"hook", rest, Request{Op: GetPush, Params: hook}, `GET /rest/tasks/t/pushNotificationConfigs/c 1.0 `},
		{"delete", rest, Request{Op: DeletePush, Params: hook}, `DELETE /rest/tasks/t/pushNotificationConfigs/c 1.0 `},
		{"card", rest, Request{Op: ExtendedCard}, `GET /rest/extendedAgentCard 1.0 `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			c := caller(t, tt.iface, Options{HTTP: answering(func(r *http.Request) *http.Response {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got = fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("A2A-Version"), body)
				return response(200, "application/json", `{}`)
			})})
			c.Call(t.Context(), tt.r)
			if got != tt.want {
				t.Errorf("sent\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

func TestInexpressible(t *testing.T) {
	t.Parallel()
	c := caller(t, rest, Options{HTTP: always(200, "application/json", `{}`)})
	for _, r := range []Request{
		{Op: GetTask, Params: map[string]any{"id": "t", "deep": map[string]any{}}},
		{Op: "tasks/get"},
	} {
		if x := c.Call(t.Context(), r); !errors.Is(x.Err, ErrInexpressible) {
			t.Errorf("Call(%v): %v, want ErrInexpressible", r, x.Err)
		}
		if x := c.Open(t.Context(), r).Rest(); !errors.Is(x.Err, ErrInexpressible) {
			t.Errorf("Open(%v): %v, want ErrInexpressible", r, x.Err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const info = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]`
	for _, tt := range []struct {
		name   string
		iface  Interface
		res    answering
		result string
		fault  Kind
		err    string
	}{
		{"rpc result", rpc, always(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":{"id":"t"}}`), `{"id":"t"}`, "", ""},
		{"rpc error", rpc, always(200, "application/json", `{"error":{"code":-32001,"message":"m","data":`+info+`}}`), "", TaskNotFound, ""},
		{"rpc not JSON", rpc, always(502, "text/html", `<html>`), "", "", "status 502, and the body is not JSON"},
		{"rpc trailing", rpc, always(200, "application/json", `{} {}`), "", "", "not JSON"},
		{"rest result", rest, always(200, "application/json", `{"id":"t"}`), `{"id":"t"}`, "", ""},
		{"rest empty", rest, always(204, "", ``), "null", "", ""},
		{"rest error", rest, always(404, "application/json", `{"error":{"code":404,"details":`+info+`}}`), "", TaskNotFound, ""},
		{"rest error of a proxy", rest, always(404, "text/plain", `gone`), "", MethodNotFound, ""},
		{"rest redirect", rest, always(302, "", ``), "", "", "status 302"},
		{"too much", rest, always(200, "application/json", strings.Repeat(" ", maxBody+1)), "", "", "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := caller(t, tt.iface, Options{HTTP: tt.res}).Call(t.Context(), Request{Op: GetTask, Params: map[string]any{"id": "t"}})
			switch {
			case tt.err != "":
				if x.Err == nil || !strings.Contains(x.Err.Error(), tt.err) {
					t.Errorf("error %v, want %q", x.Err, tt.err)
				}
			case tt.fault != "":
				if x.Fault == nil || !x.Fault.Is(tt.fault) {
					t.Errorf("fault %v, want %s", x.Fault, tt.fault)
				}
			default:
				got, err := json.Marshal(x.Result)
				if err != nil || string(got) != tt.result || x.Err != nil || x.Fault != nil {
					t.Errorf("got %s, %v, %v; want %s", got, x.Err, x.Fault, tt.result)
				}
			}
		})
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	frame := func(s string) string { return `data: {"jsonrpc":"2.0","id":1,"result":` + s + "}\n\n" }
	for _, tt := range []struct {
		name, body string
		events     int
		ended      bool
		err        string
	}{
		{"two", ": hello\n\nid: 1\nevent: x\n" + frame(`{"task":{}}`) + strings.ReplaceAll(frame(`{"statusUpdate":{}}`), "\n", "\r\n"), 2, true, ""},
		{"none", "", 0, true, ""},
		{"several lines", "data: {\"result\":\ndata: {}}\n\n", 1, true, ""},
		{"cut in a line", "data: {", 0, false, "unexpected EOF"},
		{"cut in an event", "data: {}\n", 0, false, "unexpected EOF"},
		{"not JSON", "data: hello\n\n", 0, false, "not JSON"},
		{"an error", `data: {"error":{"code":-32603,"message":"m"}}` + "\n\n" + frame(`{}`), 1, true, ""},
		{"a line too long", "data: " + strings.Repeat("x", maxBody), 0, false, "more than"},
		{"too many", strings.Repeat("data: {}\n\n", maxEvents+1), maxEvents, false, "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := caller(t, rpc, Options{HTTP: always(200, "text/event-stream; charset=utf-8", tt.body)}).Call(t.Context(), Request{Op: StreamMessage})
			if len(x.Events) != tt.events || x.Ended != tt.ended {
				t.Errorf("%d events, ended %v; want %d, %v", len(x.Events), x.Ended, tt.events, tt.ended)
			}
			if (x.Err == nil) != (tt.err == "") || x.Err != nil && !strings.Contains(x.Err.Error(), tt.err) {
				t.Errorf("error %v, want %q", x.Err, tt.err)
			}
		})
	}
}

func TestSubscribeTriesGet(t *testing.T) {
	t.Parallel()
	var methods []string
	c := caller(t, rest, Options{HTTP: answering(func(r *http.Request) *http.Response {
		methods = append(methods, r.Method)
		if r.Method == http.MethodPost {
			return response(405, "text/plain", "no")
		}
		return response(200, "text/event-stream", "data: {\"task\":{}}\n\n")
	})})
	x := c.Call(t.Context(), Request{Op: SubscribeTask, Params: map[string]any{"id": "t"}})
	if diff := cmp.Diff([]string{"POST", "GET"}, methods); diff != "" || len(x.Events) != 1 {
		t.Errorf("%d events after the methods (-want +got):\n%s", len(x.Events), diff)
	}
}

// TestTimeout waits in a bubble for a server that does not answer.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := caller(t, rpc, Options{HTTP: answering(func(*http.Request) *http.Response { return nil })})
		for _, r := range []Request{{Op: GetTask}, {Op: StreamMessage}, {Op: GetTask, Timeout: time.Hour}} {
			began := time.Now()
			x := c.Call(t.Context(), r)
			want := DefaultTimeout
			if r.Timeout != 0 {
				want = r.Timeout
			}
			if took := time.Since(began); !errors.Is(x.Err, ErrTimeout) || took != want {
				t.Errorf("%s took %v: %v; want ErrTimeout after %v", r.Op, took, x.Err, want)
			}
		}
	})
}

func TestGRPCNeedsADial(t *testing.T) {
	t.Parallel()
	if _, err := New(t.Context(), Interface{Binding: GRPC, URL: "sut.test:1"}, Options{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("New: %v, want ErrUnsupported", err)
	}
	want := errors.New("connection refused")
	o := Options{Dial: func(context.Context, string) (Conn, error) { return nil, want }}
	if _, err := New(t.Context(), Interface{Binding: GRPC, URL: "sut.test:1"}, o); !errors.Is(err, want) {
		t.Errorf("New: %v, want %v", err, want)
	}
}

func TestFaultIs(t *testing.T) {
	t.Parallel()
	reason := func(r string) []any {
		return []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": r}}
	}
	for _, tt := range []struct {
		f    Fault
		kind Kind
		want bool
	}{
		{Fault{Binding: JSONRPC, Code: -32001}, TaskNotFound, true},
		{Fault{Binding: JSONRPC, Code: -32002, Details: reason("TASK_NOT_FOUND")}, TaskNotFound, false},
		{Fault{Binding: REST, HTTP: 404}, TaskNotFound, true},
		{Fault{Binding: REST, HTTP: 400, Details: reason("TASK_NOT_CANCELABLE")}, TaskNotCancelable, true},
		{Fault{Binding: REST, HTTP: 409, Details: reason("TASK_NOT_CANCELABLE")}, Unsupported, false},
		{Fault{Binding: REST, HTTP: 409}, TaskNotCancelable, true},
		{Fault{Binding: REST, HTTP: 400}, InvalidParams, true},
		{Fault{Binding: GRPC, Status: codes.NotFound}, TaskNotFound, true},
		{Fault{Binding: GRPC, Status: codes.Unimplemented}, VersionNotSupported, true},
		{Fault{Binding: GRPC, Status: codes.Internal}, VersionNotSupported, false},
	} {
		if got := tt.f.Is(tt.kind); got != tt.want {
			t.Errorf("%v is %s: %v, want %v", &tt.f, tt.kind, got, tt.want)
		}
	}
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for _, f := range []Fault{{HTTP: 401}, {HTTP: 403}, {Binding: GRPC, Status: codes.Unauthenticated}, {Binding: GRPC, Status: codes.PermissionDenied}} {
		if !f.Unauthorized() {
			t.Errorf("%v is not unauthorized", &f)
		}
	}
	if (&Fault{HTTP: 404}).Unauthorized() {
		t.Error("404 is unauthorized")
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	r := NewRedactor(`se"cret/1`, "", "se")
	for in, want := range map[string]string{
		"Authorization: Basic xyz":                "Authorization: [redacted]",
		"a\nX-Api-Key: k\nb":                      "a\nX-Api-Key: [redacted]\nb",
		`{"token":"a\"b","x":1}`:                  `{"token":"[redacted]","x":1}`,
		`{"authentication":{"credentials": "c"}}`: `{"authentication":{"credentials": "[redacted]"}}`,
		"http://u:p@host/x":                       "http://[redacted]@host/x",
		`it is se"cret/1`:                         "it is [redacted]",
		`"se\"cret/1"`:                            `"[redacted]"`,
		"q=se%22cret%2F1":                         "q=[redacted]",
		"c2UiY3JldC8x":                            "[redacted]",
		"nothing":                                 "nothing",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	x := &Exchange{Sent: "POST /x\nAuthorization: Bearer k\n\n" + strings.Repeat("a", maxShown), Got: "200 OK\n\nhello\n", Err: ErrTimeout}
	got := NewRedactor("k").Text(x)
	for _, want := range []string{"> POST /x\n", "> Authorization: [redacted]\n>\n> aaa", "… (", "bytes more)\n", "< 200 OK\n<\n< hello\n< (no end within"} {
		if !strings.Contains(got, want) {
			t.Errorf("Text has no %q:\n%s", want, got)
		}
	}
	if NewRedactor().Text(nil) != "" {
		t.Error("nothing shows something")
	}
}

// TestRedirectsAreNotFollowed: a credential is only sent to the given server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var hosts []string
	h := HTTP{Options{Key: "k", KeyHeaders: []string{"X-Key"}, HTTP: answering(func(r *http.Request) *http.Response {
		hosts = append(hosts, r.URL.Host+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Key"))
		res := response(307, "", "")
		res.Header.Set("Location", "http://elsewhere.test/")
		return res
	})}}
	none := ""
	h.Do(t.Context(), Plain{Method: "GET", URL: "http://sut.test/"})
	h.Do(t.Context(), Plain{Method: "GET", URL: "http://sut.test/", Key: &none})
	if diff := cmp.Diff([]string{"sut.test Bearer k k", "sut.test  "}, hosts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("data: {}\n\n")
	f.Add(": x\r\n\r\ndata: {\"error\":{}}\n\ndata")
	f.Fuzz(func(t *testing.T, body string) {
		x := caller(t, rpc, Options{HTTP: always(200, "text/event-stream", body)}).Call(context.Background(), Request{Op: StreamMessage})
		if x.Err == nil && !x.Ended {
			t.Errorf("%q neither ends nor fails", body)
		}
		NewRedactor("x").Text(x)
	})
}
