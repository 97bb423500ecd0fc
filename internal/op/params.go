package op

import (
	"strings"

	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
)

// Params returns the headers that an agent may see, with lower-case names (specification §3.2.6);
// nil if there are none. Invalid trace contexts, credentials, and the version, which the binding
// has processed, are not among them.
func Params(h map[string][]string) map[string][]string {
	var params map[string][]string
	for name, values := range h {
		key := paramKey(name)
		if key == "" {
			continue
		}
		if params == nil {
			params = make(map[string][]string, 4)
		}
		params[key] = values
	}
	if params != nil {
		trace.Clean(params)
	}
	return params
}

// paramKey returns the lower-case name of a service parameter, or "" if the header is none.
func paramKey(name string) string {
	if name == "" || !strings.Contains("aAtTxX", name[:1]) {
		return "" // most headers
	}
	for _, key := range [...]string{"traceparent", "tracestate", "x-correlation-id", "x-parent-id", "a2a-extensions"} {
		if strings.EqualFold(name, key) {
			return key
		}
	}
	const prefix, version = "a2a-", "a2a-version"
	if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && !strings.EqualFold(name, version) {
		return strings.ToLower(name)
	}
	return delegation.Param(name)
}
