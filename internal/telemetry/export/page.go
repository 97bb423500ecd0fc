package export

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// page serves metrics as promhttp.HandlerFor does, with ContinueOnError and EnableOpenMetrics. That
// package would add 0.4 MB to the program, for handlers that it does not use.
type page struct {
	metrics prometheus.Gatherer
	logger  *log.Logger
	// busy has one value for each request, and room for as many as may run at the same time.
	busy chan struct{}
}

// Limits of requests for the page.
const (
	maxScrapes = 8
	scrapeTime = 10 * time.Second
)

// pageOf returns the page with the metrics of a registry.
func pageOf(metrics prometheus.Gatherer, logger *slog.Logger) http.Handler {
	p := &page{metrics: metrics, logger: slog.NewLogLogger(logger.Handler(), slog.LevelWarn), busy: make(chan struct{}, maxScrapes)}
	return http.TimeoutHandler(p, scrapeTime, fmt.Sprintf("Exceeded configured timeout of %v.\n", scrapeTime))
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		http.Error(w, fmt.Sprintf("Limit of concurrent requests reached (%d), try again later.", cap(p.busy)), http.StatusServiceUnavailable)
		return
	}
	families, err := p.metrics.Gather()
	if err != nil {
		p.logger.Println("error gathering metrics:", err)
		if len(families) == 0 {
			http.Error(w, "An error has occurred while serving metrics:\n\n"+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	w.Header().Set("Content-Type", string(format))
	out, done := p.compressed(w, r)
	defer done()
	p.write(expfmt.NewEncoder(out, format), families, r.URL.Query()["name[]"])
}

// write writes the metrics with the given names; with no names, all. It goes on after an error.
func (p *page) write(enc expfmt.Encoder, families []*dto.MetricFamily, names []string) {
	failed := func(err error) {
		if err != nil {
			p.logger.Println("error encoding and sending metric family:", err)
		}
	}
	for _, f := range families {
		if len(names) == 0 || slices.Contains(names, f.GetName()) {
			failed(enc.Encode(f))
		}
	}
	if end, ok := enc.(expfmt.Closer); ok {
		failed(end.Close())
	}
}

// compressors are writers of gzip, which are large.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed returns a writer to w, with gzip if the client prefers it, and a function that ends it.
func (p *page) compressed(w http.ResponseWriter, r *http.Request) (io.Writer, func()) {
	switch encoding := encodingFor(r.Header["Accept-Encoding"]); encoding {
	case "gzip":
		w.Header().Set("Content-Encoding", encoding)
		z := compressors.Get().(*gzip.Writer)
		z.Reset(w)
		return z, func() {
			_ = z.Close() // the client is away
			compressors.Put(z)
		}
	case "":
		p.logger.Println("error getting writer: the client accepts neither identity nor gzip")
	}
	return w, func() {}
}

// accepted is one encoding of Accept-Encoding, with its weight and the comma after it.
var accepted = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z/-]+)[ \t\r\n]*(?:;[ \t\r\n]*q=([01](?:\\.[0-9]*)?))?[ \t\r\n]*(,[ \t\r\n]*)?")

// encodingFor returns identity or gzip, whichever the client gives a larger weight; with equal
// weights and without a header, identity. It returns an empty string if the client accepts neither.
func encodingFor(header []string) string {
	weights := map[string]float64{"identity": -1, "gzip": -1}
	for _, list := range header {
		for more := true; more; {
			m := accepted.FindStringSubmatch(list)
			if m == nil || m[2] == "" && strings.HasPrefix(list[len(m[0]):], ";") {
				break // the rest of the header is not valid
			}
			q := 1.0
			if m[2] != "" {
				q, _ = strconv.ParseFloat(m[2], 64)
			}
			for name, old := range weights {
				if m[1] == name || m[1] == "*" {
					weights[name] = max(old, q)
				}
			}
			list, more = list[len(m[0]):], m[3] != ""
		}
	}
	switch best := max(weights["identity"], weights["gzip"]); best {
	case 0:
		return ""
	case weights["identity"]:
		return "identity"
	}
	return "gzip"
}
