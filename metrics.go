package parley

import "net/http"

// Metrics configures /metrics.
type Metrics struct {
	// Handler serves /metrics, such as the handler of promhttp, if the program exports the metrics
	// of OpenTelemetry to Prometheus. If nil, nothing is served there.
	Handler http.Handler
	// Readers selects the callers that may read /metrics; MetricsLocal if it is zero.
	Readers MetricsReaders
}

// MetricsReaders selects the callers that may read /metrics.
type MetricsReaders uint8

// The readers of /metrics.
const (
	// MetricsLocal allows administrators, and direct requests from this machine. It is the
	// default.
	MetricsLocal MetricsReaders = iota
	// MetricsAdmins allows callers with the role auth.RoleAdmin only.
	MetricsAdmins
	// MetricsAnyone allows every caller.
	MetricsAnyone
)
