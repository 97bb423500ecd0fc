// Package hosts decides by Host and Origin whether a web page of another site may have sent a request.
//
// A page can use any name that resolves to the address of the hub (DNS rebinding), but it cannot forge
// the headers Host and Origin. A hub that only its own machine can reach therefore accepts loopback
// names and the names that its operator has configured, and no others.
//
// [Names] and its methods are safe for concurrent use.
package hosts

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// Names are the configured names of a hub. A nil *Names has none.
type Names struct {
	hosts   []string // without port
	origins *http.CrossOriginProtection
}

// New returns the names in publicURL, which may be empty, and in allowed: hosts with or without a
// port.
func New(publicURL string, allowed []string) *Names {
	n := &Names{origins: http.NewCrossOriginProtection()}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		n.add(u.Host, u.Scheme)
	}
	for _, host := range allowed {
		n.add(host, "http", "https")
	}
	return n
}

func (n *Names) add(host string, schemes ...string) {
	n.hosts = append(n.hosts, strings.ToLower(bare(host)))
	for _, scheme := range schemes {
		// An invalid origin equals no Origin of a browser.
		_ = n.origins.AddTrustedOrigin(scheme + "://" + strings.ToLower(host))
	}
}

// CheckHost returns an error if the Host of a request is neither a loopback name nor one of n.
func (n *Names) CheckHost(host string) error {
	if n.has(host) {
		return nil
	}
	return n.refuse("host", host)
}

// CheckOrigin returns an error if an Origin of r is neither a loopback name, nor one of n, nor the
// Host of r.
func (n *Names) CheckOrigin(r *http.Request) error {
	for _, origin := range r.Header["Origin"] {
		if u, err := url.Parse(origin); err != nil || !n.has(u.Host) && (u.Host == "" || !strings.EqualFold(u.Host, r.Host)) {
			return n.refuse("origin", origin)
		}
	}
	return nil
}

func (n *Names) refuse(what, name string) error {
	if n == nil {
		return apierror.New(a2a.ErrUnauthorized, "%s %q is not a loopback address, and a hub without keys serves only its own machine: "+
			"create a key with parley keys add, or set allow_anonymous", what, name)
	}
	return apierror.New(a2a.ErrUnauthorized, "%s %q is not a loopback address or a name of this hub: "+
		"set public_url to the address that callers use, or add the name to allowed_hosts", what, name)
}

func (n *Names) has(host string) bool {
	return Loopback(host) || n != nil && slices.Contains(n.hosts, strings.ToLower(bare(host)))
}

// SameOrigin returns an error if a browser has sent r, which changes something, from a page of
// another origin. Pages under the names of n are the hub's own, also if a proxy has replaced Host.
func (n *Names) SameOrigin(r *http.Request) error {
	if n == nil {
		return http.NewCrossOriginProtection().Check(r)
	}
	return n.origins.Check(r)
}

// Loopback reports whether host, with or without a port, can only denote this machine.
func Loopback(host string) bool {
	host = bare(host)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// bare returns a host without its port and without brackets.
func bare(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
