package isolation

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// call is an operation of the protocol with its JSON-RPC params, which are converted for every
// other binding.
type call struct {
	method, params string
	// lastEventID resumes a stream; "" does not.
	lastEventID string
}

// answer contains everything that a caller receives.
type answer struct {
	// code is the status of HTTP or of gRPC.
	code string
	// meta are headers and trailers in order, without the date.
	meta []string
	// body is the unchanged body; messages of a gRPC stream are concatenated.
	body []byte
	// ordered is the body of gRPC with sorted maps; nil for HTTP.
	ordered []byte
	// read is the body as text.
	read string
}

func (a answer) String() string {
	return fmt.Sprintf("%s\n%s\n\n%s", a.code, strings.Join(a.meta, "\n"), a.read)
}

// ok reports whether the call succeeded.
func (a answer) ok() bool {
	return (a.code == "200" || a.code == "204" || a.code == "OK") && !strings.Contains(a.read, `"error":{`)
}

// binding is a way to make a call.
type binding struct {
	name string
	do   func(h *hub, c *caller, r call) answer
}

const overLegacyGRPC = "gRPC of v0.3"

var bindings = []binding{
	{"JSON-RPC", (*hub).rpc}, {"HTTP+JSON", (*hub).rest}, {"gRPC", (*hub).rpcOverGRPC}, {overLegacyGRPC, (*hub).legacyOverGRPC},
}

func (h *hub) rpc(c *caller, r call) answer {
	h.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + r.method + `","params":` + r.params + `}`
	return h.web(c, http.MethodPost, "/a2a", body, r.lastEventID)
}

// rest makes an HTTP+JSON call; params that are not in the path are in the body or the query.
func (h *hub) rest(c *caller, r call) answer {
	h.t.Helper()
	params := map[string]any{}
	if err := json.Unmarshal([]byte(r.params), &params); err != nil {
		h.t.Fatalf("params %s: %v", r.params, err)
	}
	take := func(name string) string {
		s, _ := params[name].(string)
		delete(params, name)
		return url.PathEscape(s)
	}
	method, path := http.MethodGet, ""
	switch r.method {
	case "SendMessage":
		method, path = http.MethodPost, "/message:send"
	case "SendStreamingMessage":
		method, path = http.MethodPost, "/message:stream"
	case "GetTask":
		path = "/tasks/" + take("id")
	case "ListTasks":
		path = "/tasks"
	case "CancelTask":
		method, path = http.MethodPost, "/tasks/"+take("id")+":cancel"
	case "SubscribeToTask":
		path = "/tasks/" + take("id") + ":subscribe"
	case "CreateTaskPushNotificationConfig":
		method, path = http.MethodPost, "/tasks/"+take("taskId")+"/pushNotificationConfigs"
	case "GetTaskPushNotificationConfig":
		path = "/tasks/" + take("taskId") + "/pushNotificationConfigs/" + take("id")
	case "ListTaskPushNotificationConfigs":
		path = "/tasks/" + take("taskId") + "/pushNotificationConfigs"
	case "DeleteTaskPushNotificationConfig":
		method, path = http.MethodDelete, "/tasks/"+take("taskId")+"/pushNotificationConfigs/"+take("id")
	case "GetExtendedAgentCard":
		path = "/extendedAgentCard"
	default:
		h.t.Fatalf("unknown method %s", r.method)
	}
	if method == http.MethodPost {
		body, err := json.Marshal(params)
		if err != nil {
			h.t.Fatal(err)
		}
		return h.web(c, method, "/v1/a2a"+path, string(body), r.lastEventID)
	}
	query := url.Values{}
	for name, v := range params {
		query.Set(name, fmt.Sprint(v))
	}
	return h.web(c, method, "/v1/a2a"+path+"?"+query.Encode(), "", r.lastEventID)
}

// open sends a request; the caller closes the body.
func (h *hub) open(c *caller, method, path, body, lastEventID string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.addr+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("X-Api-Key", c.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.extensions != "" {
		r.Header.Set("A2A-Extensions", c.extensions)
	}
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s as %s: %v", method, path, c.mark, err)
	}
	return resp
}

// web sends a request and reads the answer to its end.
func (h *hub) web(c *caller, method, path, body, lastEventID string) answer {
	h.t.Helper()
	resp := h.open(c, method, path, body, lastEventID)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatalf("%s %s as %s: %v", method, path, c.mark, err)
	}
	resp.Header.Del("Date")
	return answer{code: fmt.Sprint(resp.StatusCode), meta: metaLines(resp.Header, resp.Trailer), body: b, read: string(b)}
}

// metaLines returns headers in sorted order.
func metaLines(headers ...map[string][]string) []string {
	var lines []string
	for _, h := range headers {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			lines = append(lines, name+": "+strings.Join(h[name], ", "))
		}
	}
	return lines
}

// shape creates the messages of a gRPC method.
type shape struct {
	in, out func() proto.Message
	stream  bool
}

// services are the shapes of the methods of both versions.
var services = map[string]map[string]shape{"lf.a2a.v1.A2AService": shapes, "a2a.v1.A2AService": legacyShapes}

var shapes = map[string]shape{
	"SendMessage":                      {in: msg[pb.SendMessageRequest], out: msg[pb.SendMessageResponse]},
	"SendStreamingMessage":             {in: msg[pb.SendMessageRequest], out: msg[pb.StreamResponse], stream: true},
	"GetTask":                          {in: msg[pb.GetTaskRequest], out: msg[pb.Task]},
	"ListTasks":                        {in: msg[pb.ListTasksRequest], out: msg[pb.ListTasksResponse]},
	"CancelTask":                       {in: msg[pb.CancelTaskRequest], out: msg[pb.Task]},
	"SubscribeToTask":                  {in: msg[pb.SubscribeToTaskRequest], out: msg[pb.StreamResponse], stream: true},
	"CreateTaskPushNotificationConfig": {in: msg[pb.TaskPushNotificationConfig], out: msg[pb.TaskPushNotificationConfig]},
	"GetTaskPushNotificationConfig":    {in: msg[pb.GetTaskPushNotificationConfigRequest], out: msg[pb.TaskPushNotificationConfig]},
	"ListTaskPushNotificationConfigs":  {in: msg[pb.ListTaskPushNotificationConfigsRequest], out: msg[pb.ListTaskPushNotificationConfigsResponse]},
	"DeleteTaskPushNotificationConfig": {in: msg[pb.DeleteTaskPushNotificationConfigRequest], out: msg[emptypb.Empty]},
	"GetExtendedAgentCard":             {in: msg[pb.GetExtendedAgentCardRequest], out: msg[pb.AgentCard]},
}

func msg[T any, P interface {
	*T
	proto.Message
}]() proto.Message {
	return P(new(T))
}

// rawCodec sends messages and receives bytes.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(proto.Message)) }

func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

func (rawCodec) Name() string { return "proto" }

// rpcOverGRPC makes a gRPC call with JSON-RPC params.
func (h *hub) rpcOverGRPC(c *caller, r call) answer {
	h.t.Helper()
	return h.callOverGRPC(c, "lf.a2a.v1.A2AService", r)
}

// callOverGRPC makes a call of a service with its message as ProtoJSON.
func (h *hub) callOverGRPC(c *caller, service string, r call) answer {
	h.t.Helper()
	shape := services[service][r.method]
	in := shape.in()
	if err := protojson.Unmarshal([]byte(r.params), in); err != nil {
		h.t.Fatalf("params %s of %s: %v", r.params, r.method, err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", c.key)
	if c.extensions != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "a2a-extensions", c.extensions, "x-a2a-extensions", c.extensions)
	}
	if r.lastEventID != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "last-event-id", r.lastEventID)
	}
	var header, trailer metadata.MD
	frames, err := h.invoke(ctx, c, "/"+service+"/"+r.method, in, grpc.ForceCodec(rawCodec{}), grpc.Header(&header), grpc.Trailer(&trailer))
	st := status.Convert(err)
	detail, err := proto.MarshalOptions{Deterministic: true}.Marshal(st.Proto())
	if err != nil {
		h.t.Fatal(err)
	}
	a := answer{code: st.Code().String(), meta: metaLines(header, trailer), body: detail, read: st.String(), ordered: bytes.Clone(detail)}
	for _, f := range frames {
		a.body = append(a.body, f...)
		out := shape.out()
		if err := proto.Unmarshal(f, out); err != nil {
			h.t.Fatalf("%s: %v", r.method, err)
		}
		a.read += "\n" + protojson.Format(out)
		f, err := proto.MarshalOptions{Deterministic: true}.Marshal(out)
		if err != nil {
			h.t.Fatal(err)
		}
		a.ordered = append(a.ordered, f...)
	}
	return a
}

// invoke returns the response messages of a method.
func (h *hub) invoke(ctx context.Context, c *caller, path string, in proto.Message, opts ...grpc.CallOption) ([][]byte, error) {
	service, method, _ := strings.Cut(path[1:], "/")
	if !services[service][method].stream {
		var out []byte
		err := c.grpc.Invoke(ctx, path, in, &out, opts...)
		if err != nil {
			return nil, err
		}
		return [][]byte{out}, nil
	}
	s, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path, opts...)
	if err == nil {
		err = errors.Join(s.SendMsg(in), s.CloseSend())
	}
	if err != nil {
		return nil, err
	}
	var frames [][]byte
	for {
		var f []byte
		err := s.RecvMsg(&f)
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

// must makes a call that must succeed.
func (h *hub) must(b *binding, c *caller, method, params string) answer {
	h.t.Helper()
	a := b.do(h, c, call{method: method, params: params})
	if !a.ok() {
		h.t.Fatalf("%s of %s over %s: %v", method, c.mark, b.name, a)
	}
	return a
}

// awaitOnStream subscribes to a task until text comes.
func (h *hub) awaitOnStream(c *caller, id, text string) {
	h.t.Helper()
	resp := h.open(c, http.MethodGet, "/v1/a2a/tasks/"+id+":subscribe", "", "")
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			h.t.Fatalf("%s does not come: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// field returns a string in a JSON-RPC answer, by the names of its path.
func field(t *testing.T, a answer, names ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v: %v", a, err)
	}
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, ok := v.(string)
	if !ok || s == "" {
		t.Fatalf("no %v in %v", names, a)
	}
	return s
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
)

// inOrder returns the body with sorted gRPC maps.
func (a answer) inOrder() []byte {
	if a.ordered != nil {
		return a.ordered
	}
	return a.body
}

// sameness returns a as text with the guessed ids replaced by names. If made is set, new ids
// and times are replaced, too.
func (a answer) sameness(g *guess, made bool) string {
	s := fmt.Sprintf("%s\n%s\n\n", a.code, strings.Join(a.meta, "\n"))
	if made {
		s = a.code + "\n" + a.read
	} else {
		s += string(a.inOrder())
	}
	for _, pair := range g.names() {
		s = strings.ReplaceAll(s, pair[1], pair[0])
	}
	if made {
		s = times.ReplaceAllString(uuids.ReplaceAllString(s, "$$uuid"), "$$time")
	}
	return s
}
