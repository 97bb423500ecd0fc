package loop

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// collector is a collector of OTLP over HTTP.
type collector struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex // guards the fields below
	spans []span
	news  chan struct{} // is closed when there are more
}

// span is a span with its string attributes. trace, id and parent are hexadecimal.
type span struct {
	name              string
	attributes        map[string]string
	trace, id, parent string
}

func collect(t *testing.T) *collector {
	c := &collector{t: t, news: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.traces)
	mux.HandleFunc("POST /v1/metrics", c.metrics)
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) traces(w http.ResponseWriter, r *http.Request) {
	req := new(coltrace.ExportTraceServiceRequest)
	if err := decode(r, req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				got := span{
					name: s.Name, attributes: make(map[string]string),
					trace: hex.EncodeToString(s.TraceId), id: hex.EncodeToString(s.SpanId), parent: hex.EncodeToString(s.ParentSpanId),
				}
				for _, kv := range s.Attributes {
					got.attributes[kv.Key] = kv.Value.GetStringValue()
				}
				c.spans = append(c.spans, got)
			}
		}
	}
	close(c.news)
	c.news = make(chan struct{})
}

// decode decodes the body of a request.
func decode(r *http.Request, into proto.Message) error {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, into)
}

// metrics adds the names of metrics to spans, as spans with these names.
func (c *collector) metrics(w http.ResponseWriter, r *http.Request) {
	req := new(colmetrics.ExportMetricsServiceRequest)
	if err := decode(r, req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rm := range req.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				c.spans = append(c.spans, span{name: m.Name})
			}
		}
	}
	close(c.news)
	c.news = make(chan struct{})
}

// named waits for a span with a name.
func (c *collector) named(ctx context.Context, name string) span {
	c.t.Helper()
	return c.find(ctx, name, func(*span) bool { return true })
}

// find waits for a span with a name for which ok returns true.
func (c *collector) find(ctx context.Context, name string, ok func(*span) bool) span {
	c.t.Helper()
	for {
		c.mu.Lock()
		news := c.news
		for _, s := range c.spans {
			if s.name == name && ok(&s) {
				c.mu.Unlock()
				return s
			}
		}
		c.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			c.t.Fatalf("there is no such span %s", name)
		}
	}
}

// ids are the attributes of every span of a task.
var ids = []string{"task_id", "context_id", "correlation_id", "session_id"}

// TestSpans: with rockbot_names a collector gets RockBot's three spans under its names, and all
// four ids on every span of a task, although the caller has sent none.
func TestSpans(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	far := hubtest.Start(t, hubtest.Options{})
	c := collect(t)
	hub := hubtest.New(t, hubtest.Options{
		Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=200"},
		Config: fmt.Sprintf(`
telemetry: {rockbot_names: true}
questions: {answering_agent: clerk, script: answers.yaml, policy: auto, max_input_required_rounds: 1}
agents:
  - name: far
    endpoint: {backend: a2a, base_url: %s/a2a/slow, options: {poll_interval_ms: 50, no_streaming: true}}
`, far.URL()),
	})
	if err := os.WriteFile(filepath.Join(hub.Dir(), "answers.yaml"), []byte("otherwise: blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	for agent, text := range map[string]string{"far": "1 s", "interview": "your name? your colour?"} {
		// The second question of the interview exceeds the limit.
		if _, err := hub.Parley(ctx, "send", "--agent", agent, text); err != nil && agent == "far" {
			t.Fatal(err)
		}
	}
	t.Run("B34", func(t *testing.T) {
		for _, name := range []string{"polling_attempts", "input_required_rounds", "input_required_breaks"} {
			c.named(ctx, "rockbot.a2a."+name)
		}
	})
	for _, name := range []string{"rockbot.a2a.poll_loop", "rockbot.a2a.input_required_loop", "rockbot.a2a.input_required_round"} {
		t.Run("B35 B36 "+name, func(t *testing.T) {
			s := c.named(ctx, name)
			for _, id := range append([]string{"rockbot.a2a.task_id", "rockbot.a2a.session_id"}, ids...) {
				if s.attributes[id] == "" {
					t.Errorf("%s has no %s: %v", name, id, s.attributes)
				}
			}
		})
	}
	t.Run("B36 every span", func(t *testing.T) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			switch s.name {
			case "poll_loop", "input_required_loop", "input_required_round":
				t.Errorf("a span is still called %s", s.name)
			case "invoke", "SendMessage", "SendStreamingMessage", "http_dispatch":
				if s.attributes["task_id"] == "" {
					t.Errorf("%s has no task_id: %v", s.name, s.attributes)
				}
			}
			if s.attributes["task_id"] == "" {
				continue // a request without a task
			}
			for _, id := range ids {
				if s.attributes[id] == "" {
					t.Errorf("%s has no %s: %v", s.name, id, s.attributes)
				}
			}
		}
	})
}

// TestSpansOfModels: the questions that a model answers have RockBot's spans and metrics, too: alone
// for a trusted agent, and with the user for another one.
func TestSpansOfModels(t *testing.T) {
	t.Parallel()
	c := collect(t)
	w := start(t, broker(t), clerk, options{
		handle: asks, more: "telemetry: {rockbot_names: true}\n",
		env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=200"},
	})
	spans := []string{"rockbot.a2a.input_required_loop", "rockbot.a2a.input_required_round"}
	_, task := w.say(user("extract it", "", ""))
	if _, task = w.say(user("take B", task.ContextID, task.ID)); answer(task) != "completed: It says B" {
		t.Fatalf("the task is %q", answer(task))
	}
	rounds := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if s.name == spans[1] {
				n++
			}
		}
		return n
	}
	for _, name := range spans {
		s := c.named(w.ctx, name)
		for _, id := range append([]string{"rockbot.a2a.task_id"}, ids...) {
			if s.attributes[id] == "" {
				t.Errorf("%s has no %s: %v", name, id, s.attributes)
			}
		}
		if s.attributes["task_id"] != string(task.ID) || s.attributes["target_agent"] != "extractionagent" {
			t.Errorf("%s is of %v", name, s.attributes)
		}
	}
	c.named(w.ctx, "rockbot.a2a.input_required_rounds")
	before := rounds()
	w.parley("trust", "set", "extractionagent", "--level", "act", "--approve", "extract-structured-data")
	if _, task := w.say(user("extract it", "", "")); answer(task) != "completed: It says A, alone" {
		t.Fatalf("the task is %q", answer(task))
	}
	for rounds() == before {
		c.mu.Lock()
		news := c.news
		c.mu.Unlock()
		select {
		case <-news:
		case <-w.ctx.Done():
			t.Fatal("the answer to a trusted agent has no span")
		}
	}
}
