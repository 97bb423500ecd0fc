package tracing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

var (
	spans = tracetest.NewInMemoryExporter()
	page  http.Handler
)

func TestMain(m *testing.M) {
	t, err := export.Start(context.Background(), export.Config{Metrics: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	page = t.Page()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	goleak.VerifyTestMain(m)
}

// patience is the time limit for operations that should return immediately.
const patience = time.Minute

// story is one trace, with the span of the caller as its root.
type story struct {
	t           *testing.T
	trace, root string
}

func newScenario(t *testing.T) *story {
	t.Helper()
	random := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rand.N(255) + 1)
		}
		return hex.EncodeToString(b)
	}
	return &story{t, random(16), random(8)}
}

func (s *story) parent() string { return "00-" + s.trace + "-" + s.root + "-01" }

// line is a span with the names of its ancestors, the outermost first, and the attributes that
// tests check.
type line struct {
	path       string
	id         string
	failed     bool
	attributes map[string]string
}

// lines waits until the trace has n spans, and returns them by their paths.
func (s *story) lines(n int) map[string]line {
	s.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if got := s.found(); len(got) >= n {
			return s.tree(got)
		}
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("the trace has %d spans, want %d: %v", len(s.found()), n, s.tree(s.found()))
		}
	}
}

func (s *story) found() map[string]tracetest.SpanStub {
	byID := map[string]tracetest.SpanStub{}
	for _, sp := range spans.GetSpans() {
		if sp.SpanContext.TraceID().String() == s.trace {
			byID[sp.SpanContext.SpanID().String()] = sp
		}
	}
	return byID
}

func (s *story) tree(byID map[string]tracetest.SpanStub) map[string]line {
	lines := map[string]line{}
	for id, sp := range byID {
		path := sp.Name
		for up := sp.Parent.SpanID().String(); ; {
			above, ok := byID[up]
			if !ok {
				if up != s.root {
					path = "(lost)/" + path
				}
				break
			}
			path = above.Name + "/" + path
			up = above.Parent.SpanID().String()
		}
		l := line{path: path, id: id, failed: sp.Status.Code == 1, attributes: map[string]string{}}
		for _, kv := range sp.Attributes {
			l.attributes[string(kv.Key)] = kv.Value.String()
		}
		for _, taken := lines[path]; taken; _, taken = lines[path] {
			path += "'"
		}
		lines[path] = l
	}
	return lines
}

func paths(lines map[string]line) []string {
	var all []string
	for p := range lines {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// hub is a hub that serves over HTTP.
type hub struct {
	*parley.Hub
	t    *testing.T
	url  string
	stop func()
}

// serve starts h.
func serve(t *testing.T, h *parley.Hub) *hub {
	t.Helper()
	url, stop := hubtest.Run(t, h)
	return &hub{h, t, url, stop}
}

// shell registers an agent that runs a script.
func shell(t *testing.T, h *parley.Hub, name, script string) {
	t.Helper()
	h.Handle(card(name), &command.Agent{Command: []string{testenv.Tool(t, "sh"), "-c", script}})
}

func card(name string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: name, Version: "1", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "known", Name: "known"}},
	}
}

// environment is a script that prints the program's environment variables of the trace.
const environment = `echo "$TRACEPARENT|$PARLEY_CORRELATION_ID|$PARLEY_PARENT_ID"`

// post sends a request with headers, and returns the answer and its body.
func (h *hub) post(path, body string, headers ...string) (*http.Response, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp, string(b)
}

// message returns a request to send text, with further members of the message and of the
// request.
func message(text, inMessage, beside string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":` + string(b) + `}]` + inMessage + `}` + beside + `}`
}

func rpc(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// done is the task in an answer.
type done struct {
	Task struct {
		ID, ContextID string
		Status        struct {
			State   string
			Message struct{ Parts []struct{ Text string } }
		}
		Artifacts []struct{ Parts []struct{ Text string } }
	}
}

func readTask(t *testing.T, body string) *done {
	t.Helper()
	var outer struct{ Result *done }
	d := new(done)
	if err := json.Unmarshal([]byte(body), &outer); err != nil {
		t.Fatalf("answer %s: %v", body, err)
	}
	if outer.Result != nil {
		return outer.Result
	}
	if err := json.Unmarshal([]byte(body), d); err != nil || d.Task.ID == "" {
		t.Fatalf("answer %s: %v", body, err)
	}
	return d
}

// says returns the output of a completed task, or the text of another's status.
func (d *done) says() string {
	parts := d.Task.Status.Message.Parts
	if d.Task.Status.State == "TASK_STATE_COMPLETED" && len(d.Task.Artifacts) > 0 {
		parts = d.Task.Artifacts[0].Parts
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.TrimSpace(parts[0].Text)
}

func openStore(t *testing.T, path string) *sqlitestore.DB {
	t.Helper()
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// forward is an executor that calls another hub, as a hand-written agent does.
func forward(url string) agentFunc {
	return func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(rpc("SendMessage", message("hello", "", "")))))
		if err != nil {
			yield(nil, err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		trace.Inject(ctx, req.Header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, bufio.NewReader(resp.Body))
		ended(ec, yield)
	}
}

func ended(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	yield(&a2a.TaskStatusUpdateEvent{TaskID: ec.TaskID, ContextID: ec.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, nil)
}

// webhooks starts a receiver of notifications that passes on their headers.
func webhooks(t *testing.T) (url string, heard <-chan http.Header) {
	t.Helper()
	headers := make(chan http.Header, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header.Clone() }))
	t.Cleanup(srv.Close)
	return srv.URL, headers
}

var loopback = push.Options{Allow: []string{"loopback"}}
