package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/otel"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestMain checks for leaked goroutines. The tests of this package do not run in parallel,
// because providers and variables belong to the process.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a receiver of OTLP over HTTP.
type collector struct {
	url string

	mu      sync.Mutex // guards the fields below
	spans   []string   // service: name
	metrics []string
	headers []string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	srv := httptest.NewServer(c)
	c.url = srv.URL
	t.Cleanup(func() {
		srv.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Get("X-Secret"))
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	b, err := io.ReadAll(body)
	if err == nil {
		err = c.take(r.URL.Path, b)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (c *collector) take(path string, b []byte) error {
	switch path {
	case "/v1/traces":
		var in collecttrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(b, &in); err != nil {
			return err
		}
		for _, rs := range in.ResourceSpans {
			service := ""
			for _, kv := range rs.Resource.Attributes {
				if kv.Key == "service.name" {
					service = kv.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					c.spans = append(c.spans, service+": "+s.Name)
				}
			}
		}
	case "/v1/metrics":
		var in collectmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(b, &in); err != nil {
			return err
		}
		for _, rm := range in.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, m := range sm.Metrics {
					c.metrics = append(c.metrics, m.Name)
				}
			}
		}
	default:
		return errors.New("unknown path " + path)
	}
	return nil
}

// start calls Start with the variables of env and no others.
func start(t *testing.T, c Config, env map[string]string) (*Telemetry, *testenv.Buffer) {
	t.Helper()
	for _, v := range os.Environ() {
		if k, _, _ := strings.Cut(v, "="); strings.HasPrefix(k, "OTEL_") {
			t.Setenv(k, "")
		}
	}
	for k, v := range env {
		t.Setenv(k, v)
	}
	log := new(testenv.Buffer)
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	tel, err := Start(t.Context(), c)
	if err != nil {
		t.Fatalf("Start = %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = tel.Shutdown(ctx) // again, for tests that fail before
	})
	return tel, log
}

func shutdown(t *testing.T, tel *Telemetry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tel.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown = %v", err)
	}
}

// work records a call like the hub.
func work() {
	ctx, s := trace.Start(context.Background(), "invoke", trace.Internal)
	trace.Invoked(ctx, trace.Labels{Agent: "a"}, time.Millisecond)
	trace.Count(ctx, trace.PollingAttempts, trace.Labels{Agent: "a"}, 2)
	s.End()
}

func TestOTLP(t *testing.T) {
	c := newCollector(t)
	tel, _ := start(t, Config{Version: "1"}, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.url, "OTEL_SERVICE_NAME": "switchboard", "OTEL_EXPORTER_OTLP_HEADERS": "x-secret=s3cret",
	})
	if tel.Page() != nil || !trace.Tracing() || !trace.Metering() {
		t.Errorf("page %v, tracing %v, metering %v; want the last two", tel.Page(), trace.Tracing(), trace.Metering())
	}
	work()
	shutdown(t, tel)
	if diff := cmp.Diff([]string{"switchboard: invoke"}, c.spans); diff != "" {
		t.Errorf("spans mismatch (-want +got):\n%s", diff)
	}
	if !slices.Contains(c.metrics, "parley.a2a.requests") {
		t.Errorf("metrics = %q, want parley.a2a.requests among them", c.metrics)
	}
	if slices.ContainsFunc(c.headers, func(h string) bool { return h != "s3cret" }) {
		t.Errorf("headers = %q, want those of the variable", c.headers)
	}
	if trace.On() {
		t.Error("after Shutdown somebody records")
	}
}

// TestSignals checks that the variables of OpenTelemetry select the signals that are sent.
func TestSignals(t *testing.T) {
	c := newCollector(t)
	for name, tt := range map[string]struct {
		env             map[string]string
		metrics         bool // Config.Metrics
		traces, sent, p bool
		log             string
	}{
		"nothing":       {},
		"page alone":    {metrics: true, p: true},
		"disabled":      {env: map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": c.url}, metrics: true},
		"all":           {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url}, metrics: true, traces: true, sent: true, p: true},
		"traces":        {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.url + "/v1/traces"}, traces: true},
		"no traces":     {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url, "OTEL_TRACES_EXPORTER": "none"}, sent: true},
		"page and none": {env: map[string]string{"OTEL_METRICS_EXPORTER": "none"}, metrics: true},
		"page chosen":   {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url, "OTEL_METRICS_EXPORTER": "prometheus", "OTEL_TRACES_EXPORTER": "none"}, metrics: true, p: true},
		"both chosen":   {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url, "OTEL_METRICS_EXPORTER": "prometheus, otlp", "OTEL_TRACES_EXPORTER": "none"}, metrics: true, sent: true, p: true},
		"unknown":       {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, log: "variable=OTEL_TRACES_EXPORTER value=zipkin known=\"otlp, none\""},
		"another protocol": {
			env:    map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.url + "/v1/traces", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			traces: true, log: "variable=OTEL_EXPORTER_OTLP_PROTOCOL value=grpc known=http/protobuf",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tel, log := start(t, Config{Metrics: tt.metrics}, tt.env)
			c.mu.Lock()
			c.spans, c.metrics = nil, nil
			c.mu.Unlock()
			work()
			shutdown(t, tel)
			if got := tel.Page() != nil; got != tt.p {
				t.Errorf("there is a page: %v, want %v", got, tt.p)
			}
			if got := len(c.spans) > 0; got != tt.traces {
				t.Errorf("spans are sent: %v, want %v", got, tt.traces)
			}
			if got := len(c.metrics) > 0; got != tt.sent {
				t.Errorf("metrics are sent: %v, want %v", got, tt.sent)
			}
			// Errors of unsent data of an earlier test may be logged here, too.
			if !strings.Contains(log.String(), tt.log) || tt.log == "" && strings.Contains(log.String(), "variable=") {
				t.Errorf("log = %q, want %q in it", log, tt.log)
			}
		})
	}
}

// TestShutdownIsBounded checks that an unresponsive collector does not delay the shutdown.
func TestShutdownIsBounded(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(release)
	const hour = "3600000" // a shutdown that ignores its context waits for it
	tel, _ := start(t, Config{}, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_EXPORTER_OTLP_TIMEOUT": hour, "OTEL_BSP_EXPORT_TIMEOUT": hour,
	})
	for range 10_000 {
		work() // more than the queue holds, without waiting
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := tel.Shutdown(ctx); err == nil {
		t.Error("Shutdown = nil, want that something was not sent")
	}
}

func TestPage(t *testing.T) {
	tel, _ := start(t, Config{Metrics: true, Names: &Names{Metrics: "other.a2a."}, Version: "1.2.3"}, nil)
	defer shutdown(t, tel)
	work()
	trace.Served(t.Context(), trace.Labels{Operation: "GetTask", Reason: "TASK_NOT_FOUND"}, time.Second)
	w := httptest.NewRecorder()
	tel.Page().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			got[name] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{
		"parley_a2a_requests_total": 1, "other_a2a_requests_total": 1,
		"parley_a2a_duration_seconds": 1, "other_a2a_duration_seconds": 1,
		"parley_a2a_polling_attempts_total": 2, "other_a2a_polling_attempts_total": 2,
		"parley_server_requests_total": 1, "parley_server_failures_total": 1,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s = %v, want %v", name, got[name], n)
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "other_server") || strings.HasPrefix(name, "other_client") {
			t.Errorf("%s has a name of the other system, which never had it", name)
		}
	}
	if buckets := families["other_a2a_duration_seconds"].GetMetric()[0].GetHistogram().GetBucket(); buckets[0].GetUpperBound() != .001 {
		t.Errorf("the first bucket under the other name is %v, want that of the own name", buckets[0])
	}
}

func TestErrorHandlerLimitsRecords(t *testing.T) {
	log := new(bytes.Buffer)
	c := &errorHandler{logger: slog.New(slog.NewTextHandler(log, nil))}
	for range 100 {
		c.Handle(errors.New("away"))
	}
	if got := strings.Count(log.String(), "away"); got != 1 {
		t.Errorf("100 errors make %d records, want 1", got)
	}
	c.last = time.Now().Add(-2 * complainEvery)
	c.Handle(errors.New("away"))
	if !strings.Contains(log.String(), "skipped=99") {
		t.Errorf("log = %q, want how many were skipped", log)
	}
}

func TestNothing(t *testing.T) {
	var tel *Telemetry
	if tel.Page() != nil || tel.Shutdown(t.Context()) != nil {
		t.Error("nil Telemetry is something")
	}
	before := otel.GetTracerProvider()
	start(t, Config{}, nil)
	if otel.GetTracerProvider() != before {
		t.Error("a provider was installed that nobody asked for")
	}
}
