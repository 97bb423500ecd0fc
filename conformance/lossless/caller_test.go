package lossless

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/internal/rawjson"
)

// A caller is one who speaks one binding of one version.
type callerOf struct {
	name string
	// carries is false for a binding that has no place for what the protocol does not have.
	carries bool
	// stream sends a message and yields the events that come, each as the name of its
	// kind in v1.0, the object, and what stands beside it.
	stream func(ctx context.Context, w *world, agent, params string, yield func(event)) error
	// get returns a task.
	get func(ctx context.Context, w *world, agent, id string) (string, error)
}

// event is one that has come.
type event struct{ kind, body, beside string }

var callers = []callerOf{
	{"JSON-RPC", true, streamRPC, getRPC},
	{"HTTP+JSON", true, streamREST, getREST},
	{"JSON-RPC of v0.3", true, streamOld, getOld},
	{"gRPC", false, streamGRPC, getGRPC},
}

// request is the params of a plan.
func (p *plan) request(old bool) string {
	message := `{"messageId":"` + p.id + `","role":"ROLE_USER","parts":[` + p.part + `],"metadata":{"plan":"` + p.id + `"}}`
	if old {
		message = strings.Replace(message, "ROLE_USER", "user", 1)
		message = strings.Replace(message, `"parts":[{`, `"parts":[{"kind":"data",`, 1)
		message = with(`{"kind":"message"}`, message)
	}
	params := `{"message":` + with(message, p.message) + `,"configuration":` + p.configuration + `}`
	return with(params, p.params)
}

// post makes a request and gives each event of the answer, or the whole of it, to take.
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
			return nil // the caller sees whether all has come
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

// wrapped gives an event of v1.0 to yield.
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

func streamRPC(ctx context.Context, w *world, agent, params string, yield func(event)) error {
	return rpc(ctx, w, agent, "1.0", "SendStreamingMessage", params, wrapped(yield))
}

func getRPC(ctx context.Context, w *world, agent, id string) (out string, err error) {
	err = rpc(ctx, w, agent, "1.0", "GetTask", `{"id":"`+id+`"}`, func(b []byte) error { out = string(b); return nil })
	return out, err
}

func streamREST(ctx context.Context, w *world, agent, params string, yield func(event)) error {
	return post(ctx, newRequest(w.front.url+"/v1/a2a/"+agent+"/message:stream", params), "1.0", wrapped(yield))
}

func getREST(ctx context.Context, w *world, agent, id string) (out string, err error) {
	r := newRequest(w.front.url+"/v1/a2a/"+agent+"/tasks/"+id, "")
	err = post(ctx, r, "1.0", func(b []byte) error { out = string(b); return nil })
	return out, err
}

// oldKinds are the names of v1.0 for the kinds of v0.3.
var oldKinds = map[string]string{"task": "task", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}

func streamOld(ctx context.Context, w *world, agent, params string, yield func(event)) error {
	return rpc(ctx, w, agent, "", "message/stream", params, func(b []byte) error {
		kind, _ := rawjson.String(rawjson.Member(b, "kind"))
		name := oldKinds[kind]
		if word, ok := strings.CutPrefix(kind, "zap-"); ok {
			name = "zap" + strings.ToUpper(word[:1]) + "Update"
		}
		if name == "" {
			return fmt.Errorf("no event: %s", b)
		}
		yield(event{name, string(b), string(b)}) // what stood beside it is in it
		return nil
	})
}

func getOld(ctx context.Context, w *world, agent, id string) (out string, err error) {
	err = rpc(ctx, w, agent, "", "tasks/get", `{"id":"`+id+`"}`, func(b []byte) error { out = string(b); return nil })
	return out, err
}

func streamGRPC(ctx context.Context, w *world, agent, params string, yield func(event)) error {
	var r pb.SendMessageRequest
	params = string(rawjson.AppendFinite(nil, []byte(params)))
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(params), &r); err != nil {
		return err
	}
	r.Tenant = agent
	stream, err := w.grpc.SendStreamingMessage(ctx, &r)
	if err != nil {
		return err
	}
	for {
		msg, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := protojson.Marshal(msg)
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

// exact is JSON whose numbers are compared by their digits.
func exact(s string) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("%v in %s", err, s)
	}
	return v
}
