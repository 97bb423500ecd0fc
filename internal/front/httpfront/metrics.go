package httpfront

import (
	"net"
	"net/http"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/hosts"
)

// Readers selects the callers that may read /metrics. The zero Readers is Local.
type Readers uint8

// The readers.
const (
	// Local allows administrators, and direct requests from this machine. It is the default.
	Local Readers = iota
	// Admins allows callers with the role "admin" only.
	Admins
	// Anyone allows every caller.
	Anyone
)

var errNoMetrics = apierror.New(a2a.ErrUnauthorized, "metrics are for administrators: a key with the role %s", auth.RoleAdmin)

// serveMetrics serves the metrics of the process. They are not attributed to callers, and name
// no task.
func (x *exchange) serveMetrics() {
	if err := x.readsMetrics(); err != nil {
		x.fail(err)
		return
	}
	x.wrote = true
	x.writeSoon()
	x.front.cfg.Metrics.ServeHTTP(x.w, x.r)
}

// readsMetrics returns an error if the caller may not read the metrics.
func (x *exchange) readsMetrics() error {
	switch who := x.front.cfg.MetricsReaders; {
	case who == Anyone, who == Local && direct(x.r):
		return nil
	}
	if err := x.authenticate(); err != nil {
		return err
	}
	if p := x.caller.Principal; p == nil || p.Anonymous() || !slices.Contains(p.Roles, auth.RoleAdmin) {
		return errNoMetrics
	}
	return nil
}

// direct reports whether a request came from this machine without a proxy, and not from a web
// page in a browser.
func direct(r *http.Request) bool {
	if auth.Proxied(r.Header.Values) != "" || r.Header["Origin"] != nil {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return false
	}
	if _, _, err := net.SplitHostPort(r.RemoteAddr); err != nil {
		return false
	}
	return auth.LocalPeer(r.RemoteAddr) && hosts.Loopback(r.Host)
}
