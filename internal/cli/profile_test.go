package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// profiled is a hub for conformance kits.
type profiled struct {
	t    *testing.T
	url  string
	grpc string
}

// startProfile serves the conformance agent until the test ends.
func startProfile(t *testing.T, c serveCmd) *profiled {
	t.Helper()
	c.Agents, c.Listen, c.GRPCListen, c.Data = profileName, "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Engine.DrainTimeout = -1 // tasks are left open
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	return &profiled{t: t, url: h.URL(), grpc: h.About().GRPC}
}

// open sends a request of a kit; the caller closes the body of the answer.
func (p *profiled) open(method, path, body string, headers ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Set(name, strings.TrimSpace(value))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// do is open, but reads the body.
func (p *profiled) do(method, path, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	resp := p.open(method, path, body, headers...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}

// object decodes a JSON object.
func object(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return v
}

// at follows names and indexes into a JSON value; nil if the value does not exist.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

// send sends a message over HTTP+JSON and returns the task.
func (p *profiled) send(id, task, words string) map[string]any {
	p.t.Helper()
	m := map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"text": words}}}
	if task != "" {
		m["taskId"] = task
	}
	body, err := json.Marshal(map[string]any{"message": m})
	if err != nil {
		p.t.Fatal(err)
	}
	resp, got := p.do("POST", "/v1/a2a/message:send", string(body))
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("send %s = %d %s", id, resp.StatusCode, got)
	}
	v, _ := object(p.t, got)["task"].(map[string]any)
	return v
}

// eventsOf reads a stream to its end, or to the first event for which stop reports true.
func eventsOf(t *testing.T, r io.Reader, stop func(map[string]any) bool) []map[string]any {
	t.Helper()
	var all []map[string]any
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		frame, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		v := object(t, frame)
		all = append(all, v)
		if stop(v) {
			return all
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("read stream: %v", err)
	}
	return all
}

func toTheEnd(map[string]any) bool { return false }

// TestSubscriptionOutlastsAQuestion checks that a subscription to a task that waits for input
// stays open until the task has ended, and reports its end.
func TestSubscriptionOutlastsAQuestion(t *testing.T) {
	t.Parallel()
	p := startProfile(t, serveCmd{})
	for _, tt := range []struct{ method, path, body, prefix string }{
		{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":%q}}`, "result"},
		{"POST", "/v1/a2a/tasks/%s:subscribe", "", ""},
		{"GET", "/v1/a2a/tasks/%s:subscribe", "", ""},
	} {
		id := p.send("tck-input-required-1", "", "hello")["id"].(string)
		path, body := strings.ReplaceAll(tt.path, "%s", id), strings.ReplaceAll(tt.body, "%q", `"`+id+`"`)
		resp := p.open(tt.method, path, body)
		inner := func(v map[string]any) map[string]any {
			if tt.prefix == "" {
				return v
			}
			return v[tt.prefix].(map[string]any)
		}
		got := eventsOf(t, resp.Body, func(map[string]any) bool { return true })
		if state := at(inner(got[0]), "task", "status", "state"); state != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("%s %s begins with %v, want the current task", tt.method, path, got)
		}
		p.send("tck-complete-task-1", id, "more")
		got = eventsOf(t, resp.Body, toTheEnd)
		if len(got) == 0 || at(inner(got[len(got)-1]), "statusUpdate", "status", "state") != "TASK_STATE_COMPLETED" {
			t.Errorf("%s %s ends with %v, want the end of the task", tt.method, path, got)
		}
		resp.Body.Close()
	}
}

// capabilitiesWith returns the capabilities of a card without credentials. Such callers may read
// the trees of tasks.
func capabilitiesWith(streamsAndPush bool) map[string]any {
	tree := card.TaskTreeExtension()
	return map[string]any{
		"streaming": streamsAndPush, "pushNotifications": streamsAndPush, "extendedAgentCard": false, "stateTransitionHistory": false,
		"extensions": []any{map[string]any{"uri": tree.URI, "description": tree.Description}},
	}
}

// TestProfileCard checks that the card can be cached, has the keys of both protocol versions, and
// declares nothing that a kit without credentials cannot use.
func TestProfileCard(t *testing.T) {
	t.Parallel()
	p := startProfile(t, serveCmd{})
	resp, body := p.do("GET", "/.well-known/agent-card.json", "")
	for name, want := range map[string]string{"Cache-Control": "max-age=", "Etag": `"`, "Last-Modified": "GMT", "Content-Type": "application/json"} {
		if got := resp.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s = %q, want %q in it", name, got, want)
		}
	}
	card := object(t, body)
	got := slices.Sorted(maps.Keys(card))
	want := []string{
		"additionalInterfaces", "agentName", "capabilities", "defaultInputModes", "defaultOutputModes", "description", "name", "preferredTransport",
		"protocolVersion", "skills", "supportedInterfaces", "supportsAuthenticatedExtendedCard", "url", "version",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of the card (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(capabilitiesWith(true), card["capabilities"]); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	var bindings []string
	for i := range card["supportedInterfaces"].([]any) {
		bindings = append(bindings, fmt.Sprint(at(card, "supportedInterfaces", i, "protocolBinding"), " ", at(card, "supportedInterfaces", i, "url")))
	}
	if diff := cmp.Diff([]string{"JSONRPC " + p.url + "/a2a", "HTTP+JSON " + p.url + "/v1/a2a", "GRPC " + p.grpc}, bindings); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
	if got := startProfile(t, serveCmd{NoStreaming: true, NoPush: true}); got != nil {
		_, body := got.do("GET", "/.well-known/agent-card.json", "")
		if diff := cmp.Diff(capabilitiesWith(false), object(t, body)["capabilities"]); diff != "" {
			t.Errorf("capabilities with both off (-want +got):\n%s", diff)
		}
	}
}

// TestProfileGRPC checks that gRPC is served without TLS, and refuses an unknown version with
// the status of v1.0.1.
func TestProfileGRPC(t *testing.T) {
	t.Parallel()
	p := startProfile(t, serveCmd{})
	conn, err := grpc.NewClient(p.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := pb.NewA2AServiceClient(conn)
	with := func(version string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "a2a-version", version)
	}
	got, err := c.SendMessage(with("1.0"), &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "tck-artifact-data-1", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n := got.GetTask().GetArtifacts()[0].GetParts()[0].GetData().GetStructValue().GetFields()["count"].GetNumberValue(); n != 42 {
		t.Errorf("answer = %v, want the data of the kit", got)
	}
	_, err = c.GetTask(with("99.0"), &pb.GetTaskRequest{Id: got.GetTask().GetId()})
	s := status.Convert(err)
	if s.Code() != codes.FailedPrecondition {
		t.Errorf("version 99.0 = %v, want FAILED_PRECONDITION", err)
	}
	if info, ok := s.Details()[0].(*errdetails.ErrorInfo); !ok || info.GetReason() != "VERSION_NOT_SUPPORTED" {
		t.Errorf("details = %v, want the reason VERSION_NOT_SUPPORTED", s.Details())
	}
}

// TestProfileNotifiesWebhooks checks that a webhook on this machine is notified, with its
// credentials.
func TestProfileNotifiesWebhooks(t *testing.T) {
	t.Parallel()
	p := startProfile(t, serveCmd{})
	received := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read notification: %v", err)
		}
		received <- r.Header.Get("Authorization") + " " + string(b)
	}))
	t.Cleanup(hook.Close)
	resp, body := p.do("POST", "/v1/a2a/message:send", fmt.Sprintf(
		`{"message":{"messageId":"tck-stream-002-1","role":"ROLE_USER","parts":[{"text":"x"}]},`+
			`"configuration":{"taskPushNotificationConfig":{"url":%q,"authentication":{"scheme":"Bearer","credentials":"abc"}}}}`, hook.URL))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("send with a webhook = %d %s", resp.StatusCode, body)
	}
	select {
	case got := <-received:
		if !strings.HasPrefix(got, "Bearer abc {") || !strings.Contains(got, "TASK_STATE_COMPLETED") {
			t.Errorf("the webhook received %q", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the webhook received nothing")
	}
}

// TestProfileHistory checks that the history of three turns consists of the three texts in
// order.
func TestProfileHistory(t *testing.T) {
	t.Parallel()
	p := startProfile(t, serveCmd{})
	for _, tt := range []struct{ id, last, end string }{
		{"tck-input-required-1", "tck-complete-task-1", "three"},
		{"m", "m", "done"},
	} {
		id := p.send(tt.id, "", "tck-multi-turn one")["id"].(string)
		p.send(tt.id, id, "two")
		if state := at(p.send(tt.last, id, tt.end), "status", "state"); state != "TASK_STATE_COMPLETED" {
			t.Errorf("after three turns the state is %v, want TASK_STATE_COMPLETED", state)
		}
		_, body := p.do("GET", "/v1/a2a/tasks/"+id, "")
		var got []string
		for _, m := range object(t, body)["history"].([]any) {
			got = append(got, fmt.Sprint(at(m, "parts", 0, "text")))
		}
		if diff := cmp.Diff([]string{"tck-multi-turn one", "two", tt.end}, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	}
}

// TestProfileErrors checks that every JSON-RPC error has a code, a message and a list of
// details that begins with an ErrorInfo, and no other field.
func TestProfileErrors(t *testing.T) {
	t.Parallel()
	on, off := startProfile(t, serveCmd{}), startProfile(t, serveCmd{NoStreaming: true, NoPush: true})
	const send = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]%s}}`
	done := on.send("m", "", "x")["id"].(string)
	for _, tt := range []struct {
		hub            *profiled
		method, params string
		code           float64
		reason         string
		headers        []string
	}{
		{on, "GetTask", `{"id":"nothing"}`, -32001, "TASK_NOT_FOUND", nil},
		{on, "CancelTask", `{"id":"` + done + `"}`, -32002, "TASK_NOT_CANCELABLE", nil},
		{on, "SendMessage", fmt.Sprintf(send, `,"taskId":"mine"`), -32001, "TASK_NOT_FOUND", nil},
		{on, "SendMessage", fmt.Sprintf(send, `,"taskId":"`+done+`"`), -32004, "UNSUPPORTED_OPERATION", nil},
		{on, "SendStreamingMessage", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[]}}`, -32602, "INVALID_PARAMS", nil},
		{on, "SubscribeToTask", `{"id":"` + done + `"}`, -32004, "UNSUPPORTED_OPERATION", nil},
		{on, "GetExtendedAgentCard", `{}`, -32004, "UNSUPPORTED_OPERATION", nil},
		{on, "Nothing", `{}`, -32601, "METHOD_NOT_FOUND", nil},
		{on, "GetTask", `{"id":"nothing"}`, -32009, "VERSION_NOT_SUPPORTED", []string{"A2A-Version: 99.0"}},
		{off, "SendStreamingMessage", fmt.Sprintf(send, ""), -32004, "UNSUPPORTED_OPERATION", nil},
		{off, "SubscribeToTask", `{"id":"nothing"}`, -32004, "UNSUPPORTED_OPERATION", nil},
		{off, "CreateTaskPushNotificationConfig", `{"taskId":"nothing","url":"https://a.example/"}`, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", nil},
		{off, "GetTaskPushNotificationConfig", `{"taskId":"nothing","id":"a"}`, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", nil},
		{off, "ListTaskPushNotificationConfigs", `{"taskId":"nothing"}`, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", nil},
		{off, "DeleteTaskPushNotificationConfig", `{"taskId":"nothing","id":"a"}`, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED", nil},
	} {
		resp, body := tt.hub.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`","params":`+tt.params+`}`, tt.headers...)
		if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("%s %s: content type %q, want application/json", tt.method, tt.params, ct)
		}
		e, _ := object(t, body)["error"].(map[string]any)
		if diff := cmp.Diff([]string{"code", "data", "message"}, slices.Sorted(maps.Keys(e))); diff != "" {
			t.Errorf("%s %s: fields of the error (-want +got):\n%s", tt.method, tt.params, diff)
		}
		if e["code"] != tt.code || at(e, "data", 0, "reason") != tt.reason || at(e, "data", 0, "domain") != a2a.ProtocolDomain ||
			at(e, "data", 0, "@type") != "type.googleapis.com/google.rpc.ErrorInfo" {
			t.Errorf("%s %s = %s, want %v %s", tt.method, tt.params, body, tt.code, tt.reason)
		}
	}
}
