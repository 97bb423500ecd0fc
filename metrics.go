package parley

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
