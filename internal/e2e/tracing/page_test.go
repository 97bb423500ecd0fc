package tracing

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
)

// scrape parses the metrics page with Prometheus' own parser.
func scrape(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the page answers %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("Prometheus cannot read the page: %v", err)
	}
	return families
}

// maxRows is the largest number of rows of a metric after the traffic below: far fewer than the
// tasks.
const maxRows = 60

// TestLabelsAreBounded: after many tasks with ids, skills, methods and errors of every kind, no
// value chosen by a caller is a label, and the rows of a metric do not grow with the number of
// tasks.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	for _, a := range builtin.Agents() {
		if a.Name == "echo" || a.Name == "interview" {
			h.Handle(a.Card, a.Executor)
		}
	}
	s := serve(t, h)
	const many = 300
	mark := func(what string, i int) string { return fmt.Sprintf("chosen-%s-%d", what, i) }
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < many; i += 4 {
				headers := []string{"X-Correlation-Id", mark("correlation", i), "X-Parent-Id", mark("parent", i), "Traceparent", newScenario(t).parent()}
				meta := `,"metadata":{"sessionId":"` + mark("session", i) + `","correlationId":"` + mark("meta", i) + `"}`
				s.post("/v1/a2a/message:send", message("hi", `,"contextId":"`+mark("context", i)+`","taskId":"`+mark("task", i)+`"`, meta), headers...)
				s.post("/a2a/echo", rpc("SendMessage", message("hi", `,"metadata":{"skill":"`+mark("skill", i)+`"}`, meta)), headers...)
				_, body := s.post("/a2a/interview", rpc("SendMessage", message("hi", "", "")), headers...)
				s.post("/a2a/interview", rpc("SendMessage", message("hi", `,"taskId":"`+readTask(t, body).Task.ID+`","metadata":{"skill":"`+mark("skill", i)+`"}`, meta)), headers...)
				s.post("/a2a", rpc(mark("method", i), `{}`), headers...)
				s.post("/a2a/"+mark("agent", i), rpc("GetTask", `{"id":"x"}`), headers...)
				s.post("/a2a", rpc("GetTask", `{"id":"`+mark("none", i)+`","tenant":"`+mark("tenant", i)+`"}`), append(headers, "A2A-Version", mark("version", i))...)
			}
		})
	}
	wg.Wait()
	families := scrape(t)
	for name, f := range families {
		if rows := len(f.GetMetric()); rows > maxRows {
			t.Errorf("%s has %d rows, want at most %d", name, rows, maxRows)
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.Contains(l.GetValue(), "chosen") {
					t.Errorf("%s has the label %s=%q, which a caller has chosen", name, l.GetName(), l.GetValue())
				}
				if id := l.GetName(); slices.Contains([]string{"task_id", "context_id", "correlation_id", "session_id", "trace_id"}, id) {
					t.Errorf("%s has the label %s", name, id)
				}
			}
		}
	}
	for _, want := range []string{
		"parley_server_requests_total", "parley_server_failures_total", "parley_server_duration_seconds",
		"parley_a2a_requests_total", "parley_a2a_duration_seconds", "parley_agents", "parley_runs", "parley_queue",
		"parley_streams", "parley_doubts", "parley_ready", "parley_webhook_backlog", "parley_build_info", "go_goroutines", "target_info",
	} {
		if families[want] == nil {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// value returns the sum of the rows of a metric that have a label, such as
// "target_agent=x".
func value(f *dto.MetricFamily, label string) float64 {
	var sum float64
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName()+"="+l.GetValue() == label {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
