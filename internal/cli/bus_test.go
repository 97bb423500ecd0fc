package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/testing/grpctest"
	"github.com/parley-a2a/parley/worker"
)

// busHub is a hub and a bus in this process.
type busHub struct {
	*server.Hub
	t    *testing.T
	stop func()
}

// serveOn starts a hub on a bus with its data in a folder. The hub stops with the test.
func serveOn(t *testing.T, b *bus.Memory, data string, change func(*config.Config)) *busHub {
	t.Helper()
	c := serveCmd{Listen: "127.0.0.1:0", Data: data, LogLevel: "error", Agents: "none"}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	cfg.OpenBus = func(context.Context) (bus.Bus, error) { return b.Peer(), nil }
	if change != nil {
		change(cfg)
	}
	h, stop := running(t, cfg, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	<-h.Recovered()
	return &busHub{h, t, stop}
}

// work performs the tasks of an agent until the test ends.
func work(t *testing.T, w *worker.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("worker: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// greeter answers with a greeting.
func greeter() a2asrv.AgentExecutor {
	return agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		text := "hello " + agent.Text(x.Message)
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))), nil)
	})
}

// call sends a request to the hub.
func (h *busHub) call(request, body string, lines ...string) (int, string) {
	h.t.Helper()
	resp, err := (&httpQuery{at: h.URL(), what: request, body: body, header: lines}).ask(h.t.Context())
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(bytes.TrimSpace(b))
}

// waitingCall holds the requests with which a dialect sends a message without waiting, and
// later reads the answer.
type waitingCall struct {
	send, sendBody string
	get, getBody   string
	header         []string
	// id returns the id of the task in an answer.
	id func(answer map[string]any) any
}

func inside(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// waitingCalls are the dialects over HTTP whose clients can wait.
var waitingCalls = map[string]waitingCall{
	"JSON-RPC v1.0": {
		send:     "POST /a2a/greeter",
		sendBody: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"you"}]},"configuration":{"returnImmediately":true}}}`,
		get:      "POST /a2a/greeter", getBody: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"%s"}}`,
		header: []string{"A2A-Version: 1.0"},
		id:     func(a map[string]any) any { return inside(a, "result", "task", "id") },
	},
	"HTTP+JSON v1.0": {
		send:     "POST /v1/a2a/greeter/message:send",
		sendBody: `{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"you"}]},"configuration":{"returnImmediately":true}}`,
		get:      "GET /v1/a2a/greeter/tasks/%s",
		header:   []string{"A2A-Version: 1.0"},
		id:       func(a map[string]any) any { return inside(a, "task", "id") },
	},
	"JSON-RPC v0.3": {
		send:     "POST /a2a/greeter",
		sendBody: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m3","role":"user","parts":[{"kind":"text","text":"you"}]},"configuration":{"blocking":false}}}`,
		get:      "POST /a2a/greeter", getBody: `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"%s"}}`,
		id: func(a map[string]any) any { return inside(a, "result", "id") },
	},
	"HTTP+JSON v0.3": {
		send:     "POST /a2a/greeter/v1/message:send",
		sendBody: `{"message":{"messageId":"m5","role":"ROLE_USER","content":[{"text":"you"}]},"configuration":{"blocking":false}}`,
		get:      "GET /a2a/greeter/v1/tasks/%s",
		id:       func(a map[string]any) any { return inside(a, "task", "id") },
	},
	"derived": {
		send:     "POST /a2a/greeter",
		sendBody: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m6","role":"user","parts":[{"text":"you"}]},"configuration":{"blocking":false}}}`,
		get:      "POST /a2a/greeter", getBody: `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"%s"}}`,
		id: func(a map[string]any) any { return inside(a, "result", "id") },
	},
	"gateway": {
		send:     "POST /",
		sendBody: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m4","role":"user","parts":[{"text":"you"}]},"metadata":{"skill":"greeter"},"configuration":{"returnImmediately":true}}}`,
		get:      "POST /", getBody: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"%s"}}`,
		id: func(a map[string]any) any { return inside(a, "result", "task", "id") },
	},
}

// TestAgentThatIsNotRunning calls an agent that does not run, in every dialect whose clients
// can wait. Then it restarts the hub and starts the agent. Each caller must receive its answer.
func TestAgentThatIsNotRunning(t *testing.T) {
	t.Parallel()
	b, data := new(bus.Memory), t.TempDir()
	named := func(c *config.Config) {
		c.Agents = []config.Agent{{Name: "greeter", Queue: "Greeter", Skills: []config.Skill{{ID: "greeter"}}}}
		c.GRPCListen = "127.0.0.1:0"
	}
	h := serveOn(t, b, data, named)
	ids := make(map[string]string)
	for name, c := range waitingCalls {
		code, answer := h.call(c.send, c.sendBody, c.header...)
		var v map[string]any
		if err := json.Unmarshal([]byte(answer), &v); err != nil || code != 200 {
			t.Fatalf("%s: send = %d %s", name, code, answer)
		}
		if ids[name] = fmt.Sprint(c.id(v)); len(ids[name]) < 10 {
			t.Fatalf("%s: no id of a task in %s", name, answer)
		}
	}
	for name, c := range grpcCalls {
		var v map[string]any
		if err := json.Unmarshal([]byte(h.grpcCall(c.send, c.sendBody)), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ids[name] = fmt.Sprint(inside(v, "task", "id"))
	}
	// The caller of this one waits and is disconnected.
	const job = `{"taskId":"job-1","message":{"role":"user","parts":[{"kind":"text","text":"you"}]}}`
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "POST", h.URL()+"/a2a/greeter/tasks/send", strings.NewReader(job))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answered := make(chan error, 1)
	go func() { // the test waits for it below
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			err = errors.New(resp.Status)
		}
		answered <- err
	}()
	for h.tasks() == len(waitingCalls)+len(grpcCalls) && len(answered) == 0 {
		runtime.Gosched() // until the job has arrived
	}
	leave()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("a job of an agent that does not run was answered with %v", err)
	}
	h.stop()

	h = serveOn(t, b, data, named)
	work(t, &worker.Worker{Bus: b.Peer(), Name: "Greeter", Executor: greeter()})
	for name, c := range waitingCalls {
		h.follow(ids[name])
		code, answer := h.call(fill(c.get, ids[name]), fill(c.getBody, ids[name]), c.header...)
		if code != 200 || !strings.Contains(answer, "hello you") {
			t.Errorf("%s: the answer is %d %s", name, code, answer)
		}
	}
	for name, c := range grpcCalls {
		h.follow(ids[name])
		if got := h.grpcCall(c.get, fill(c.getBody, ids[name])); !strings.Contains(got, "hello you") {
			t.Errorf("%s: the answer is %s", name, got)
		}
	}
	if code, answer := h.call("POST /a2a/greeter/tasks/send", job); code != 200 || !strings.Contains(answer, "hello you") {
		t.Errorf("job: the answer is %d %s", code, answer)
	}
}

// tasks returns the number of tasks of the hub.
func (h *busHub) tasks() int {
	h.t.Helper()
	var page struct{ TotalSize int }
	if code, answer := h.call("GET /v1/a2a/tasks?pageSize=1", "", "A2A-Version: 1.0"); code != 200 || json.Unmarshal([]byte(answer), &page) != nil {
		h.t.Fatalf("list = %d %s", code, answer)
	}
	return page.TotalSize
}

func fill(format, id string) string { return strings.ReplaceAll(format, "%s", id) }

// follow waits until a task has ended.
func (h *busHub) follow(id string) {
	h.t.Helper()
	if code, answer := h.call("POST /v1/a2a/tasks/"+id+":subscribe", "{}", "A2A-Version: 1.0", "Last-Event-ID: 1"); code != 200 && code != 204 {
		h.t.Errorf("subscribe to %s = %d %s", id, code, answer)
	}
}

// grpcCall calls a method of v1.0, or of v0.3 if its name is "v0.3 METHOD".
func (h *busHub) grpcCall(method, request string) string {
	h.t.Helper()
	service := pb.File_a2av1_proto.Services().ByName("A2AService")
	method, v03 := strings.CutPrefix(method, "v0.3 ")
	if v03 {
		service = pb0.File_a2a_proto.Services().ByName("A2AService")
	}
	conn, err := grpc.NewClient(h.About().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	c := grpctest.Client{Conn: conn, Service: service}
	answer := ""
	err = c.Call(h.t.Context(), method, request, func(m string) bool {
		answer = m
		return true
	})
	if err != nil {
		h.t.Fatalf("%s = %v", method, err)
	}
	return answer
}

// grpcCalls are the bindings over gRPC, with the calls that send a message and read a task.
var grpcCalls = map[string]struct{ send, sendBody, get, getBody string }{
	"gRPC v1.0": {
		"SendMessage", `{"tenant":"greeter","message":{"messageId":"m7","role":"ROLE_USER","parts":[{"text":"you"}]},"configuration":{"returnImmediately":true}}`,
		"GetTask", `{"tenant":"greeter","id":"%s"}`,
	},
	"gRPC v0.3": {
		"v0.3 SendMessage", `{"request":{"messageId":"m8","role":"ROLE_USER","parts":[{"text":"you"}]},"configuration":{"blocking":false},"metadata":{"skill":"greeter"}}`,
		"v0.3 GetTask", `{"name":"tasks/%s"}`,
	},
}

// send sends a message to an agent and returns the id of the task.
func (h *busHub) send(agent, text string) string {
	h.t.Helper()
	body := `{"message":{"messageId":"` + text + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]},"configuration":{"returnImmediately":true}}`
	code, answer := h.call("POST /v1/a2a/"+agent+"/message:send", body, "A2A-Version: 1.0", "X-Correlation-Id: corr-1")
	var v map[string]any
	if err := json.Unmarshal([]byte(answer), &v); err != nil || code != 200 {
		h.t.Fatalf("send to %s = %d %s", agent, code, answer)
	}
	return fmt.Sprint(inside(v, "task", "id"))
}

// get returns a task as text.
func (h *busHub) get(id string) string {
	h.t.Helper()
	_, answer := h.call("GET /v1/a2a/tasks/"+id, "", "A2A-Version: 1.0")
	return answer
}

// receive subscribes to a topic and returns its messages. The subscription is active when it
// returns.
func receive(t *testing.T, b bus.Bus, at bus.Address) <-chan *bus.Envelope {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done, received := make(chan struct{}), make(chan struct{}), make(chan *bus.Envelope, 100)
	var once sync.Once
	go func() {
		defer close(done)
		for d, err := range b.Receive(ctx, bus.Subscription{At: at, Ready: func() { once.Do(func() { close(ready) }) }}) {
			if err != nil {
				t.Errorf("receive at %s: %v", at, err)
				return
			}
			received <- d.Envelope
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	<-ready
	return received
}

// TestAnnouncedAgent checks that an announcement is enough for an agent to be listed, found by
// its skill and called, also after a restart of the hub without the agent. It also checks that
// the output of the agent is published on the bus.
func TestAnnouncedAgent(t *testing.T) {
	t.Parallel()
	b, data := new(bus.Memory), t.TempDir()
	h := serveOn(t, b, data, nil)
	chat := receive(t, b, protocol.ChatTopic)
	discovery := receive(t, b, protocol.Discovery)
	stop := work(t, &worker.Worker{
		Bus: b.Peer(), Card: &a2a.AgentCard{Name: "Greeter", Description: "Greets.", Version: "3", Skills: []a2a.AgentSkill{{ID: "greet", Name: "Greet", Description: "Greets you."}}},
		Executor: greeter(),
	})
	for e := range discovery {
		if e.Type != protocol.TypeHub {
			continue // the hub greets a new agent
		}
		code, answer := h.call("GET /api/v1/agents/greeter", "")
		if code == 200 && strings.Contains(answer, `"kind":"queue"`) && strings.Contains(answer, `"id":"greet"`) && strings.Contains(answer, `"workers":1`) {
			break
		}
	}
	if code, answer := h.call("GET /a2a/greeter/.well-known/agent-card.json", ""); code != 200 || !strings.Contains(answer, `"Greets you."`) {
		t.Errorf("card = %d %s", code, answer)
	}
	id := h.send("greeter", "you")
	h.follow(id)
	if got := h.get(id); !strings.Contains(got, "hello you") {
		t.Errorf("task = %s", got)
	}
	received := ""
	for e := range chat {
		received += string(e.Body) + e.Correlation + " "
		if strings.Contains(received, "COMPLETED") {
			break
		}
	}
	if want := `{"agent":"greeter","type":"status","text":"hello you","state":"TASK_STATE_COMPLETED"}corr-1`; !strings.Contains(received, want) {
		t.Errorf("the live view has %s, want %s in it", received, want)
	}
	stop()
	h.stop()
	h = serveOn(t, b, data, nil)
	id = h.send("greeter", "again")
	work(t, &worker.Worker{Bus: b.Peer(), Name: "greeter", Executor: greeter()})
	h.follow(id)
	if got := h.get(id); !strings.Contains(got, "hello again") {
		t.Errorf("after a restart: %s", got)
	}
}

// TestDeadLetterFailsItsTask makes a dead letter of the work of a task, and replays it.
func TestDeadLetterFailsItsTask(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	h := serveOn(t, b, t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} })
	id := h.send("greeter", "poison")
	ctx, cancel := context.WithCancel(t.Context())
	for d, err := range b.Receive(ctx, bus.Subscription{At: protocol.JobAt("greeter")}) {
		if err == nil {
			err = d.DeadLetter(ctx, "it makes me ill")
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	cancel()
	h.follow(id)
	if got := h.get(id); !strings.Contains(got, "TASK_STATE_FAILED") || !strings.Contains(got, "it makes me ill") {
		t.Errorf("the task of dead work is %s", got)
	}
	code, answer := h.call("GET /api/v1/dead?task="+id, "")
	var page adminapi.DeadList
	if err := json.Unmarshal([]byte(answer), &page); err != nil || code != 200 || len(page.Letters) != 1 || page.Letters[0].Queue != "agent.task.greeter" {
		t.Fatalf("dead letters = %d %s", code, answer)
	}
	code, answer = h.call("POST /api/v1/dead/"+string(page.Letters[0].ID)+"/replay", "{}")
	if d, err := b.Depth(t.Context(), protocol.JobAt("greeter")); code != 200 || err != nil || d.Ready != 1 {
		t.Errorf("replay = %d %s, the queue has %+v, %v", code, answer, d, err)
	}
}

// TestRedriveAtAQueue checks that a hanging worker loses its task to another worker.
func TestRedriveAtAQueue(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	h := serveOn(t, b, t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} })
	began, stopped := make(chan struct{}), make(chan struct{})
	work(t, &worker.Worker{Bus: b.Peer(), Name: "greeter", Concurrency: 1, Executor: agent.Func(
		func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			close(began)
			<-ctx.Done()
			close(stopped)
		})})
	id := h.send("greeter", "you")
	<-began
	if code, answer := h.call("POST /api/v1/agents/greeter/pause", "{}"); code != 200 {
		t.Fatalf("pause = %d %s", code, answer)
	}
	if code, answer := h.call("POST /api/v1/tasks/"+id+"/redrive", "{}"); code != 200 {
		t.Fatalf("redrive = %d %s", code, answer)
	}
	if code, answer := h.call("POST /api/v1/tasks/"+id+"/redrive", "{}"); code != 200 {
		t.Fatalf("redrive of a task in line = %d %s", code, answer)
	}
	<-stopped
	if code, answer := h.call("POST /api/v1/tasks/"+id+"/fail", `{"reason":"enough"}`); code != 200 || !strings.Contains(answer, "FAILED") {
		t.Errorf("fail = %d %s", code, answer)
	}
	if got := h.get(id); !strings.Contains(got, "enough") {
		t.Errorf("the task is %s", got)
	}
}

// TestTwoHubsOnOneBus checks that two hubs share the workers of an agent, and that each hub
// receives the answers to its own messages.
func TestTwoHubsOnOneBus(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	named := func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} }
	hubs := []*busHub{serveOn(t, b, t.TempDir(), named), serveOn(t, b, t.TempDir(), named)}
	var ids [2][]string
	for n := range 10 {
		for i, h := range hubs {
			ids[i] = append(ids[i], h.send("greeter", fmt.Sprint("hub ", i, " message ", n)))
		}
	}
	for range 2 {
		work(t, &worker.Worker{Bus: b.Peer(), Name: "greeter", Executor: greeter()})
	}
	for i, h := range hubs {
		for n, id := range ids[i] {
			h.follow(id)
			if got := h.get(id); !strings.Contains(got, fmt.Sprint("hello hub ", i, " message ", n)) {
				t.Errorf("message %d of hub %d: %s", n, i, got)
			}
		}
	}
}

// TestRedriveGoesToAFreeWorker checks that the task of a hanging worker is given to the next
// free worker.
func TestRedriveGoesToAFreeWorker(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	h := serveOn(t, b, t.TempDir(), func(c *config.Config) { c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}} })
	began := make(chan struct{}, 1)
	var once sync.Once
	work(t, &worker.Worker{Bus: b.Peer(), Name: "greeter", Concurrency: 1, Executor: agent.Func(
		func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			hangs := false
			once.Do(func() { hangs = true })
			if hangs {
				began <- struct{}{}
				<-ctx.Done()
				return
			}
			for ev, err := range greeter().Execute(ctx, x) {
				if !yield(ev, err) {
					return
				}
			}
		})})
	id := h.send("greeter", "you")
	<-began
	if code, answer := h.call("POST /api/v1/tasks/"+id+"/redrive", "{}"); code != 200 {
		t.Fatalf("redrive = %d %s", code, answer)
	}
	h.follow(id)
	if got := h.get(id); !strings.Contains(got, "hello you") {
		t.Errorf("the task is %s", got)
	}
}
