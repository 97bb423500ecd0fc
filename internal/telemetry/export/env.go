package export

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// environment reads the variables that select the exporters.
type environment struct {
	lookup func(string) string
	logger *slog.Logger
}

// settings are the settings of the variables.
type settings struct {
	disabled                bool
	traces, metrics, noPage bool
}

func (e environment) read() settings {
	if e.lookup == nil {
		e.lookup = os.Getenv
	}
	if strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") {
		return settings{disabled: true}
	}
	w := settings{}
	w.traces = e.sends("TRACES", "otlp", "none")
	w.metrics = e.sends("METRICS", "otlp", "none", "prometheus")
	w.noPage = e.get("OTEL_METRICS_EXPORTER") == "none"
	return w
}

func (e environment) get(name string) string { return strings.TrimSpace(e.lookup(name)) }

// sends reports whether a signal is sent: if its variable selects that, or if an endpoint is
// set and the variable selects nothing else.
func (e environment) sends(signal string, known ...string) bool {
	name := "OTEL_" + signal + "_EXPORTER"
	chosen, otlp := false, false
	for word := range strings.SplitSeq(e.get(name), ",") {
		word = strings.TrimSpace(word)
		switch {
		case word == "":
		case word == "otlp":
			chosen, otlp = true, true
		case !slices.Contains(known, word):
			e.unknown(name, word, strings.Join(known, ", "))
		default:
			chosen = true
		}
	}
	if !chosen {
		otlp = e.get("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
	}
	if otlp {
		e.protocol(signal)
	}
	return otlp
}

// protocol logs unsupported protocols.
func (e environment) protocol(signal string) {
	const only = "http/protobuf"
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_" + signal + "_PROTOCOL"} {
		if v := e.get(name); v != "" && v != only {
			e.unknown(name, v, only)
		}
	}
}

func (e environment) unknown(name, value, known string) {
	e.logger.Warn("telemetry: ignoring a variable with an unknown value", "variable", name, "value", value, "known", known)
}

// complainEvery is the shortest time between two log records of errors.
const complainEvery = time.Minute

// errorHandler is the error handler of the SDK. It limits the rate of records, because an
// unreachable collector would fill the log.
type errorHandler struct {
	logger *slog.Logger

	mu      sync.Mutex // guards the fields below
	last    time.Time
	skipped int
}

func (c *errorHandler) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.last.IsZero() && now.Sub(c.last) < complainEvery {
		c.skipped++
		return
	}
	c.logger.Warn("telemetry", "error", err, "skipped", c.skipped)
	c.last, c.skipped = now, 0
}
