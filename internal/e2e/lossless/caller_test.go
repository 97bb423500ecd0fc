package lossless

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// callerOf is a client of one binding of one version.
type callerOf struct {
	binding string
	form    form
	// stream sends the message of a plan and yields the incoming events. Each has the v1.0 name
	// of its kind, the object, and the members beside it.
	stream func(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error
	// get returns a task.
	get func(ctx context.Context, w *world, agent, id string) (string, error)
}

// event is a received event.
type event struct{ kind, body, beside string }

var callers = []callerOf{
	{rpcV1, formV1, streamRPC, getRPC},
	{restV1, formV1, streamREST, getREST},
	{grpcV1, formV1, streamGRPC, getGRPC},
	{rpcOld, formOld, streamOldRPC, getOldRPC},
	{restOld, formProto, streamOldREST, getOldREST},
	{grpcOld, formProto, streamOldGRPC, getOldGRPC},
}

// post sends a request and passes each event of the answer, or the whole answer, to take.
func post(ctx context.Context, r *http.Request, version string, take func([]byte) error) error {
	r = r.WithContext(ctx)
	if version != "" {
		r.Header.Set("A2A-Version", version)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		return take(b)
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			if err := take([]byte(strings.TrimSpace(data))); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the caller checks for completeness
		}
	}
}

// newRequest returns a request; a body makes it a POST.
func newRequest(url, body string) *http.Request {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		panic(err) // the URL is that of a test server
	}
	return r
}

// result returns the result of a JSON-RPC response.
func result(b []byte) ([]byte, error) {
	v := rawjson.Member(b, "result")
	if v == nil {
		return nil, fmt.Errorf("no result: %s", b)
	}
	return v, nil
}

// rpc makes a call over JSON-RPC.
func rpc(ctx context.Context, w *world, agent, version, method, params string, take func([]byte) error) error {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return post(ctx, newRequest(w.front.url+"/a2a/"+agent, body), version, func(b []byte) error {
		b, err := result(b)
		if err != nil {
			return err
		}
		return take(b)
	})
}

// wrapped returns a function that passes v1.0 events to yield.
func wrapped(yield func(event)) func([]byte) error {
	return func(b []byte) error {
		var ev event
		var beside []string
		for name, v := range rawjson.Fields(b) {
			if ev.kind == "" {
				ev.kind, ev.body = name, string(v)
			} else {
				beside = append(beside, quoted(name)+":"+string(v))
			}
		}
		if ev.kind == "" || rawjson.KindOf([]byte(ev.body)) != rawjson.Object {
			return fmt.Errorf("no event: %s", b)
		}
		ev.beside = "{" + strings.Join(beside, ",") + "}"
		yield(ev)
		return nil
	}
}

func streamRPC(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	return rpc(ctx, w, agent, "1.0", "SendStreamingMessage", p.request(formV1), wrapped(yield))
}

func getRPC(ctx context.Context, w *world, agent, id string) (out string, err error) {
	err = rpc(ctx, w, agent, "1.0", "GetTask", `{"id":"`+id+`"}`, func(b []byte) error { out = string(b); return nil })
	return out, err
}

func streamREST(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	return post(ctx, newRequest(w.front.url+"/v1/a2a/"+agent+"/message:stream", p.request(formV1)), "1.0", wrapped(yield))
}

func getREST(ctx context.Context, w *world, agent, id string) (out string, err error) {
	r := newRequest(w.front.url+"/v1/a2a/"+agent+"/tasks/"+id, "")
	err = post(ctx, r, "1.0", func(b []byte) error { out = string(b); return nil })
	return out, err
}

// oldKinds maps the kinds of v0.3 to the names of v1.0.
var oldKinds = map[string]string{"task": "task", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}

func streamOldRPC(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	return rpc(ctx, w, agent, "", "message/stream", p.request(formOld), func(b []byte) error {
		kind, _ := rawjson.String(rawjson.Member(b, "kind"))
		name := oldKinds[kind]
		if word, ok := strings.CutPrefix(kind, "zap-"); ok {
			name = "zap" + strings.ToUpper(word[:1]) + "Update"
		}
		if name == "" {
			return fmt.Errorf("no event: %s", b)
		}
		yield(event{name, string(b), string(b)}) // the members beside it are in it
		return nil
	})
}

func getOldRPC(ctx context.Context, w *world, agent, id string) (out string, err error) {
	err = rpc(ctx, w, agent, "", "tasks/get", `{"id":"`+id+`"}`, func(b []byte) error { out = string(b); return nil })
	return out, err
}

func streamOldREST(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	f := formProto
	if p.prose {
		f = formOld
	}
	return post(ctx, newRequest(w.front.url+"/a2a/"+agent+"/v1/message:stream", p.request(f)), "", wrapped(yield))
}

func getOldREST(ctx context.Context, w *world, agent, id string) (out string, err error) {
	r := newRequest(w.front.url+"/a2a/"+agent+"/v1/tasks/"+id, "")
	err = post(ctx, r, "", func(b []byte) error { out = string(b); return nil })
	return out, err
}

// parse parses params as a gRPC message, which drops unknown fields.
func parse(params string, m proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(rawjson.AppendFinite(nil, []byte(params)), m)
}

func streamGRPC(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	var r pb.SendMessageRequest
	if err := parse(p.request(formV1), &r); err != nil {
		return err
	}
	r.Tenant = agent
	stream, err := w.grpc.SendStreamingMessage(ctx, &r)
	if err != nil {
		return err
	}
	return receive(stream, yield)
}

// receive passes the events of a gRPC stream to yield.
func receive[M any, P interface {
	*M
	proto.Message
}](stream grpc.ServerStreamingClient[M], yield func(event)) error {
	for {
		msg, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := protojson.Marshal(P(msg))
		if err != nil {
			return err
		}
		if err := wrapped(yield)(b); err != nil {
			return err
		}
	}
}

func getGRPC(ctx context.Context, w *world, agent, id string) (string, error) {
	t, err := w.grpc.GetTask(ctx, &pb.GetTaskRequest{Id: id, Tenant: agent})
	if err != nil {
		return "", err
	}
	b, err := protojson.Marshal(t)
	return string(b), err
}

// to names the agent of a v0.3 gRPC call.
func to(ctx context.Context, agent string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "a2a-tenant", agent)
}

func streamOldGRPC(ctx context.Context, w *world, agent string, p *plan, yield func(event)) error {
	var r pb0.SendMessageRequest
	// The generated code names the content of a message parts, which is the same on the wire.
	params := strings.Replace(p.request(formProto), `"content":[`, `"parts":[`, 1)
	if err := parse(params, &r); err != nil {
		return err
	}
	stream, err := w.oldGRPC.SendStreamingMessage(to(ctx, agent), &r)
	if err != nil {
		return err
	}
	return receive(stream, yield)
}

func getOldGRPC(ctx context.Context, w *world, agent, id string) (string, error) {
	t, err := w.oldGRPC.GetTask(to(ctx, agent), &pb0.GetTaskRequest{Name: "tasks/" + id})
	if err != nil {
		return "", err
	}
	b, err := protojson.Marshal(t)
	return string(b), err
}

// exact decodes JSON with numbers that are compared by their digits.
func exact(s string) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("%v in %s", err, s)
	}
	return v
}

// doubles returns v, a result of exact, with each number rounded to a double.
func doubles(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(v.String(), 64)
		b, _ := json.Marshal(min(max(f, -math.MaxFloat64), math.MaxFloat64)) // finite
		return json.Number(b)
	case []any:
		for i := range v {
			v[i] = doubles(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = doubles(v[name])
		}
	}
	return v
}
