package export

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// reference returns the page of Prometheus's library.
func reference(metrics prometheus.Gatherer, logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTime, EnableOpenMetrics: true,
	})
}

// answer is what a page answers and logs.
type answer struct {
	Status int
	Header http.Header
	Body   string
	Log    string
}

func ask(page func(prometheus.Gatherer, *slog.Logger) http.Handler, metrics prometheus.Gatherer, r *http.Request) answer {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	w := httptest.NewRecorder()
	page(metrics, logger).ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String(), log.String()}
}

// some returns metrics of each type.
func some(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	count := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls_total", Help: "Calls."}, []string{"agent"})
	level := prometheus.NewGauge(prometheus.GaugeOpts{Name: "level"})
	times := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "times", Buckets: []float64{1, 2.5}})
	sums := prometheus.NewSummary(prometheus.SummaryOpts{Name: "sums.ü", Objectives: map[float64]float64{.5: .1}})
	registry.MustRegister(count, level, times, sums)
	count.WithLabelValues("a\n\"ü").Add(3)
	level.Set(1.5)
	times.Observe(2)
	sums.Observe(4)
	return registry
}

var accepts = []string{
	"", "*/*", "text/plain", "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "application/openmetrics-text", "nothing/known",
	"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3", "text/html;q=x",
	"application/openmetrics-text;version=0.0.1", "text/plain;version=1.0.0;escaping=allow-utf-8",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=compact-text",
}

var encodings = []string{
	"", "gzip", "identity", "*", "zstd", "zstd, gzip", "gzip, deflate, br", "gzip;q=0", "gzip;q=0, identity;q=0.5", "identity;q=0",
	"*;q=0", "gzip;q=0.5, identity;q=0.4", "gzip;q=0.5,identity;q=0.5", "gzip;x=1", "gzip;q=2, identity", "GZIP", "gzip;q=1;x",
	"gzip ; q=0.3 , identity;q=0.2", "gzip;q=1.5", "gzip;q=.5", ",gzip", "gzip,", "gzip=1, identity;q=0",
}

// TestSame compares the page with that of Prometheus's library.
func TestSame(t *testing.T) {
	t.Parallel()
	metrics := some(t)
	rapid.Check(t, func(t *rapid.T) {
		r := httptest.NewRequest("GET", "/metrics", nil)
		query := url.Values{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"level", "times", "none", ""}), 0, 2).Draw(t, "names") {
			query.Add("name[]", name)
		}
		r.URL.RawQuery = query.Encode()
		if accept := rapid.SampledFrom(accepts).Draw(t, "accept"); accept != "" {
			r.Header.Set("Accept", accept)
		}
		encoding := rapid.OneOf(rapid.SampledFrom(encodings), rapid.StringMatching(`((gzip|identity|\*|br)( ?;( ?q=)?[012]?(\.[0-9])?)?[, ]*){0,3}`))
		r.Header["Accept-Encoding"] = rapid.SliceOfN(encoding, 0, 2).Draw(t, "encoding")
		got, want := ask(pageOf, metrics, r), ask(reference, metrics, r)
		if (got.Log == "") != (want.Log == "") {
			t.Errorf("log = %q, want %q", got.Log, want.Log)
		}
		got.Log = want.Log // of a client that accepts no encoding; the text differs
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the page differs (-want +got):\n%s", diff)
		}
	})
}

// TestErrors compares the pages of metrics that cannot be gathered or written.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := []*dto.MetricFamily{{Name: proto.String("broken")}, {
		Name: proto.String("whole"), Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: proto.Float64(1)}}},
	}}
	for name, metrics := range map[string]prometheus.GathererFunc{
		"nothing":      func() ([]*dto.MetricFamily, error) { return nil, errors.New("away") },
		"some":         func() ([]*dto.MetricFamily, error) { return broken[1:], errors.New("away") },
		"not writable": func() ([]*dto.MetricFamily, error) { return broken, nil },
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		got, want := ask(pageOf, metrics, r), ask(reference, metrics, r)
		if diff := cmp.Diff(want, got); diff != "" || got.Log == "" {
			t.Errorf("%s: the page differs (-want +got):\n%s", name, diff)
		}
	}
}

// TestLimits compares what the pages answer while as many requests as may run wait for metrics.
func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			time.Sleep(2 * scrapeTime)
			return nil, nil
		})
		var all [2][]answer
		for i, page := range []func(prometheus.Gatherer, *slog.Logger) http.Handler{pageOf, reference} {
			one := page(slow, slog.New(slog.DiscardHandler))
			found := make(chan answer, maxScrapes+1)
			for range maxScrapes + 1 {
				go func() {
					found <- ask(func(prometheus.Gatherer, *slog.Logger) http.Handler { return one }, nil, httptest.NewRequest("GET", "/metrics", nil))
				}()
			}
			for range maxScrapes + 1 {
				all[i] = append(all[i], <-found)
			}
			time.Sleep(2 * scrapeTime)
		}
		if diff := cmp.Diff(all[1], all[0]); diff != "" || all[0][0].Status != http.StatusServiceUnavailable {
			t.Errorf("the pages differ (-want +got):\n%s", diff)
		}
	})
}
