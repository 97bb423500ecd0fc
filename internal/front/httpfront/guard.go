package httpfront

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// guard refuses requests that a web page may have sent through a browser to a hub on this
// machine: a page can name any host that resolves to 127.0.0.1, but it cannot forge Host and
// Origin.
func guard(r *http.Request) error {
	if !loopbackHost(r.Host) {
		return apierror.New(a2a.ErrUnauthorized, "host %q is not a loopback address", r.Host)
	}
	for _, origin := range r.Header["Origin"] {
		u, err := url.Parse(origin)
		if err != nil || !loopbackHost(u.Host) {
			return apierror.New(a2a.ErrUnauthorized, "origin %q is not a loopback address", origin)
		}
	}
	return nil
}

// loopbackHost reports whether host, with or without a port, can only denote this machine.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
