package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestOneTrace: the trace goes from the caller through the hub to its program, over every
// binding of HTTP.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "teller", environment)
	s := serve(t, h)
	for name, tt := range map[string]struct{ path, body, server, transport, protocol string }{
		"JSON-RPC":   {"/a2a", rpc("SendMessage", message("x", "", "")), "SendMessage", "jsonrpc", "v1.0"},
		"HTTP+JSON":  {"/v1/a2a/message:send", message("x", "", ""), "SendMessage", "http+json", "v1.0"},
		"stream":     {"/a2a/teller", rpc("SendStreamingMessage", message("x", "", "")), "SendStreamingMessage", "jsonrpc", "v1.0"},
		"v0.3 REST":  {"/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]},"configuration":{"blocking":true}}`, "SendMessage", "http+json", "v0.3-proto"},
		"tasks/send": {"/tasks/send", `{"taskId":"job-1","message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`, "SendMessage", "http+json", dialecttest.Job},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story := newScenario(t)
			version := "1.0"
			if tt.protocol == "v0.3-proto" {
				version = "0.3"
			}
			resp, body := s.with(t).post(tt.path, tt.body, "Traceparent", story.parent(), "X-Correlation-Id", "c "+name, "X-Parent-Id", "p-1", "A2A-Version", version)
			if got := resp.Header.Get("X-Correlation-Id") + "|" + resp.Header.Get("X-Parent-Id"); got != "c "+name+"|p-1" {
				t.Errorf("the answer has the ids %q, want those of the request", got)
			}
			lines := story.lines(2)
			if diff := cmp.Diff([]string{tt.server, tt.server + "/invoke"}, paths(lines)); diff != "" {
				t.Fatalf("spans mismatch (-want +got):\n%s", diff)
			}
			outer, run := lines[tt.server], lines[tt.server+"/invoke"]
			if want := "00-" + story.trace + "-" + run.id + "-01|c " + name + "|p-1"; !strings.Contains(body, want) {
				t.Errorf("the program does not know %q:\n%s", want, body)
			}
			want := map[string]string{"transport": tt.transport, "protocol": tt.protocol, "operation": tt.server, "target_agent": "teller", "correlation_id": "c " + name}
			for key, v := range want {
				if outer.attributes[key] != v {
					t.Errorf("%s of the request is %q, want %q", key, outer.attributes[key], v)
				}
			}
			want = map[string]string{"protocol": "command", "outcome": "completed", "target_agent": "teller", "latency_grade": "fast", "correlation_id": "c " + name}
			for key, v := range want {
				if run.attributes[key] != v {
					t.Errorf("%s of the run is %q, want %q", key, run.attributes[key], v)
				}
			}
			if id := run.attributes["task_id"]; id == "" || id != outer.attributes["task_id"] || run.attributes["context_id"] != outer.attributes["context_id"] {
				t.Errorf("ids of the run %v are not those of the request %v", run.attributes, outer.attributes)
			}
		})
	}
}

// with returns h for a subtest.
func (h *hub) with(t *testing.T) *hub {
	t.Helper()
	sub := *h
	sub.t = t
	return &sub
}

// TestOneTraceOverGRPC: the same over gRPC, which returns the ids in the header.
func TestOneTraceOverGRPC(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "teller", environment)
	s := serve(t, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- grpcbind.New(grpcbind.Config{Engine: s.Engine()}).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewA2AServiceClient(conn)
	request := &pb.SendMessageRequest{Message: &pb.Message{
		MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "x"}}},
	}}
	t.Run("one answer", func(t *testing.T) {
		story := newScenario(t)
		var header metadata.MD
		if _, err := client.SendMessage(story.outgoing(), request, grpc.Header(&header)); err != nil {
			t.Fatal(err)
		}
		if got := header.Get("x-correlation-id"); !cmp.Equal(got, []string{"c-grpc"}) {
			t.Errorf("the answer has the correlation id %q", got)
		}
		story.over("grpc", "SendMessage")
	})
	t.Run("stream", func(t *testing.T) {
		story := newScenario(t)
		stream, err := client.SendStreamingMessage(story.outgoing(), request)
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		for ; ; events++ {
			if _, err := stream.Recv(); err != nil {
				break
			}
		}
		if got := story.over("grpc", "SendStreamingMessage").attributes["events"]; got != fmt.Sprint(events) {
			t.Errorf("the span says %s events, want %d", got, events)
		}
	})
	t.Run("failure", func(t *testing.T) {
		story := newScenario(t)
		if _, err := client.GetTask(story.outgoing(), &pb.GetTaskRequest{Id: "none"}); err == nil {
			t.Fatal("a task is there that is not")
		}
		got := story.lines(1)["GetTask"]
		if !got.failed || got.attributes["reason"] != "TASK_NOT_FOUND" {
			t.Errorf("span = %+v, want that it failed", got)
		}
	})
}

func (s *story) outgoing() context.Context {
	return metadata.AppendToOutgoingContext(s.t.Context(), "traceparent", s.parent(), "x-correlation-id", "c-grpc")
}

// over checks a trace of a request and a run.
func (s *story) over(transport, operation string) line {
	s.t.Helper()
	lines := s.lines(2)
	if diff := cmp.Diff([]string{operation, operation + "/invoke"}, paths(lines)); diff != "" {
		s.t.Fatalf("spans mismatch (-want +got):\n%s", diff)
	}
	got := lines[operation]
	if got.attributes["transport"] != transport || got.attributes["target_agent"] != "teller" || got.attributes["task_id"] == "" {
		s.t.Errorf("span = %+v", got)
	}
	return got
}

// TestTraceThroughTwoHubs: an agent of the first hub calls the second.
func TestTraceThroughTwoHubs(t *testing.T) {
	t.Parallel()
	second := &parley.Hub{}
	shell(t, second, "teller", environment)
	b := serve(t, second)
	first := &parley.Hub{}
	first.Handle(card("asker"), forward(b.url+"/a2a"))
	a := serve(t, first)
	story := newScenario(t)
	a.post("/a2a", rpc("SendMessage", message("x", "", "")), "Traceparent", story.parent(), "X-Correlation-Id", "c-two")
	lines := story.lines(4)
	want := []string{"SendMessage", "SendMessage/invoke", "SendMessage/invoke/SendMessage", "SendMessage/invoke/SendMessage/invoke"}
	if diff := cmp.Diff(want, paths(lines)); diff != "" {
		t.Errorf("spans mismatch (-want +got):\n%s", diff)
	}
	for path, l := range lines {
		if l.attributes["correlation_id"] != "c-two" {
			t.Errorf("%s has the correlation id %q, want that of the first caller", path, l.attributes["correlation_id"])
		}
	}
}

// TestTraceOfARemoteAgent: an agent of the first hub is a remote agent at the second.
func TestTraceOfARemoteAgent(t *testing.T) {
	t.Parallel()
	second := &parley.Hub{}
	shell(t, second, "teller", environment)
	b := serve(t, second)
	far := &remote.Agent{URL: b.url}
	t.Cleanup(func() { far.Close() })
	first := &parley.Hub{}
	first.Handle(card("far"), far)
	a, story := serve(t, first), newScenario(t)
	_, body := a.post("/a2a", rpc("SendMessage", message("x", "", "")), "Traceparent", story.parent(), "X-Correlation-Id", "c-far")
	lines := story.lines(5)
	const chain = "SendMessage/invoke/streaming_dispatch/SendStreamingMessage/invoke"
	last, ok := lines[chain]
	if !ok {
		t.Fatalf("spans = %q, want %s", paths(lines), chain)
	}
	if want := "00-" + story.trace + "-" + last.id + "-01|c-far"; !strings.Contains(body, want) {
		t.Errorf("the program at the end does not know %q:\n%s", want, body)
	}
	if got := lines["SendMessage/invoke"].attributes["protocol"]; got != "remote" {
		t.Errorf("the run says that its agent is %q, want remote", got)
	}
	if got := value(scrape(t)["parley_client_requests_total"], "target_agent=far"); got != 1 {
		t.Errorf("parley_client_requests_total of the agent = %v, want 1", got)
	}
}

// TestTraceOfADelegation: the task of a delegate is below the run of the agent that calls it.
func TestTraceOfADelegation(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	h.Handle(card("boss"), agentFunc(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if _, err := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "teller", Message: ec.Message}); err != nil {
			yield(nil, err)
			return
		}
		ended(ec, yield)
	}))
	shell(t, h, "teller", environment)
	s, story := serve(t, h), newScenario(t)
	s.post("/a2a/boss", rpc("SendMessage", message("x", "", `,"metadata":{"correlationId":"c-boss"}`)), "Traceparent", story.parent())
	lines := story.lines(3)
	if diff := cmp.Diff([]string{"SendMessage", "SendMessage/invoke", "SendMessage/invoke/invoke"}, paths(lines)); diff != "" {
		t.Errorf("spans mismatch (-want +got):\n%s", diff)
	}
	if got := lines["SendMessage/invoke/invoke"].attributes; got["target_agent"] != "teller" || got["correlation_id"] != "c-boss" {
		t.Errorf("the run of the agent that was asked has the attributes %v", got)
	}
}

// TestTraceOfAWebhook: notifications belong to the trace of the caller, also if another process
// sends them.
func TestTraceOfAWebhook(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			url, heard := webhooks(t)
			hold := make(chan struct{})
			gated := agentFunc(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				select {
				case <-hold:
				case <-ctx.Done():
					return
				}
				ended(ec, yield)
			})
			start := func() *hub {
				db := openStore(t, path)
				h := &parley.Hub{Store: db.Tasks(), Push: loopback, Limits: parley.Limits{DrainTimeout: -1}}
				h.Push.KeyFile = path + ".key"
				h.Handle(card("gated"), agent.With(gated, agent.Traits{AfterCrash: agent.Repeat}))
				s := serve(t, h)
				stop := s.stop
				s.stop = func() { stop(); db.Close() }
				return s
			}
			s, story := start(), newScenario(t)
			s.post("/a2a", rpc("SendMessage", message("x", "", `,"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"`+url+`"}}`)),
				"Traceparent", story.parent(), "X-Correlation-Id", "c-hook")
			if restart {
				s.stop()
				s = start()
			}
			close(hold)
			select {
			case got := <-heard:
				if !strings.HasPrefix(got.Get("Traceparent"), "00-"+story.trace+"-") || got.Get("X-Correlation-Id") != "c-hook" {
					t.Errorf("the webhook is notified with the header %v, want the trace %s", got, story.trace)
				}
			case <-time.After(patience):
				t.Fatal("the webhook was not notified")
			}
			for p := range story.lines(3) {
				if strings.HasPrefix(p, "(lost)") {
					t.Errorf("span %s is lost", p)
				}
			}
			s.stop()
		})
	}
}

// TestTraceThroughARestart: a run that the next process repeats joins the trace of the message.
func TestTraceThroughARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	begun := make(chan struct{}, 2)
	keeps := make(chan agent.Call, 2)
	start := func(ends bool) *hub {
		db := openStore(t, path)
		h := &parley.Hub{Store: db.Tasks(), Limits: parley.Limits{DrainTimeout: -1}}
		h.Handle(card("patient"), agent.With(agentFunc(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			keeps <- *agent.CallFrom(ctx)
			begun <- struct{}{}
			if ends {
				ended(ec, yield)
				return
			}
			<-ctx.Done()
		}), agent.Traits{AfterCrash: agent.Repeat}))
		s := serve(t, h)
		stop := s.stop
		s.stop = func() { stop(); db.Close() }
		return s
	}
	story := newScenario(t)
	s := start(false)
	s.post("/a2a", rpc("SendMessage", message("x", "", `,"configuration":{"returnImmediately":true},"metadata":{"correlationId":"c-meta","parentId":"p-meta","sessionId":"s-1"}`)),
		"Traceparent", story.parent())
	<-begun
	s.stop()
	s = start(true)
	<-begun
	lines := story.lines(3)
	if diff := cmp.Diff([]string{"SendMessage", "SendMessage/invoke", "SendMessage/invoke'"}, paths(lines)); diff != "" {
		t.Fatalf("spans mismatch (-want +got):\n%s", diff)
	}
	attempts := map[string]string{}
	for _, p := range []string{"SendMessage/invoke", "SendMessage/invoke'"} {
		a := lines[p].attributes
		attempts[a["attempt"]] = a["outcome"]
		if a["correlation_id"] != "c-meta" || a["session_id"] != "s-1" {
			t.Errorf("a run has the attributes %v, want the ids of the metadata", a)
		}
	}
	if diff := cmp.Diff(map[string]string{"1": "fenced", "2": "completed"}, attempts); diff != "" {
		t.Errorf("outcomes by attempt mismatch (-want +got):\n%s", diff)
	}
	for range 2 {
		if c := <-keeps; c.CorrelationID != "c-meta" || c.ParentID != "p-meta" {
			t.Errorf("Call has the ids %q and %q, want those of the metadata", c.CorrelationID, c.ParentID)
		}
	}
	s.stop()
}

// TestIDsStayWithTheTask: a further message keeps the ids of the first one, unless it has its
// own. Ids in the header take precedence over those in the metadata.
func TestIDsStayWithTheTask(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "asker", environment+`; exit 3`)
	s := serve(t, h)
	resp, body := s.post("/a2a", rpc("SendMessage", message("x", "", `,"metadata":{"correlationId":"c-1","parentId":"p-meta"}`)), "X-Parent-Id", "p-1")
	first := readTask(t, body)
	if got := resp.Header.Get("X-Correlation-Id") + "|" + resp.Header.Get("X-Parent-Id"); got != "c-1|p-1" {
		t.Errorf("the answer has the ids %q, want c-1|p-1", got)
	}
	for i, tt := range []struct{ header, want string }{{"", "|c-1|p-1"}, {"c-2", "|c-2|"}, {"", "|c-1|p-1"}} {
		_, body := s.post("/a2a", rpc("SendMessage", message("y", `,"taskId":"`+first.Task.ID+`"`, "")), "X-Correlation-Id", tt.header)
		if got := readTask(t, body).says(); !strings.HasSuffix(got, tt.want) {
			t.Errorf("message %d: the program knows %q, want %q", i+2, got, tt.want)
		}
	}
}

// TestBadTraces: an invalid trace context begins a new trace, and an invalid id is dropped. The
// work then has the id of its task.
func TestBadTraces(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "teller", environment)
	params := make(chan *a2asrv.ServiceParams, 10)
	h.Handle(card("keeper"), agentFunc(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		params <- ec.ServiceParams
		ended(ec, yield)
	}))
	s := serve(t, h)
	long := strings.Repeat("x", 10<<10)
	for _, bad := range []string{"00-1-2-01", long, "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"} {
		resp, body := s.post("/a2a", rpc("SendMessage", message("x", "", `,"metadata":{"parentId":"`+long+`"}`)), "Traceparent", bad, "X-Correlation-Id", long)
		answer := readTask(t, body)
		got := answer.says()
		if tp, _, _ := strings.Cut(got, "|"); len(tp) != 55 || strings.Contains(bad, tp[3:35]) || !strings.HasSuffix(got, "-01|"+answer.Task.ID+"|") {
			t.Errorf("after a traceparent %.30q the program knows %.200q", bad, got)
		}
		s.post("/a2a/keeper", rpc("SendMessage", message("x", "", "")), "Traceparent", bad, "X-Correlation-Id", long, "Tracestate", long)
		kept := <-params
		for _, name := range []string{"x-correlation-id", "tracestate"} {
			if v, there := kept.Get(name); there && (name != "x-correlation-id" || v[0] == long) {
				t.Errorf("the executor gets %s %.30q", name, v)
			}
		}
		if v := resp.Header.Get("X-Correlation-Id"); v != "" {
			t.Errorf("the answer has a correlation id of %d bytes", len(v))
		}
	}
}

// TestFailuresInSpans: the span has the same error as the answer to the caller.
func TestFailuresInSpans(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "breaker", "exit 1")
	h.Handle(card("panics"), agentFunc(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { panic("oh") }))
	s := serve(t, h)
	for name, tt := range map[string]struct{ path, body, span, reason string }{
		"no task":  {"/a2a", rpc("GetTask", `{"id":"none"}`), "GetTask", "TASK_NOT_FOUND"},
		"method":   {"/a2a", rpc("Nonsense"+strings.Repeat("x", 100), `{}`), "request", "METHOD_NOT_FOUND"},
		"no agent": {"/a2a/nobody", rpc("GetTask", `{}`), "request", "TASK_NOT_FOUND"},
		"the run":  {"/a2a/breaker", rpc("SendMessage", message("x", "", "")), "SendMessage/invoke", "failed"},
		"a panic":  {"/a2a/panics", rpc("SendMessage", message("x", "", "")), "SendMessage/invoke", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story := newScenario(t)
			s.with(t).post(tt.path, tt.body, "Traceparent", story.parent())
			lines := story.lines(1 + strings.Count(tt.span, "/"))
			if got := lines[tt.span]; !got.failed || got.attributes["reason"] != tt.reason {
				t.Errorf("spans = %+v, want that %s failed for %s", lines, tt.span, tt.reason)
			}
		})
	}
}

// TestLogsNameTheTrace: errors in a run are logged with the trace and the id of its caller.
func TestLogsNameTheTrace(t *testing.T) {
	t.Parallel()
	log := new(testenv.Buffer)
	h := &parley.Hub{Logger: slog.New(trace.LogHandler(slog.NewTextHandler(log, nil)))}
	h.Handle(card("panics"), agentFunc(func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { panic("oh") }))
	s, story := serve(t, h), newScenario(t)
	s.post("/a2a", rpc("SendMessage", message("x", "", "")), "Traceparent", story.parent(), "X-Correlation-Id", "c-log")
	run := story.lines(2)["SendMessage/invoke"]
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "agent panicked") {
			if want := "trace_id=" + story.trace + " span_id=" + run.id + " correlation_id=c-log"; !strings.Contains(line, want) {
				t.Errorf("record %s lacks %s", line, want)
			}
			return
		}
	}
	t.Errorf("log = %s, want a record of the panic", log)
}
