package auth

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// proxyHeaders are the headers by which proxies mark the requests that they forward.
var proxyHeaders = [...]string{
	"Forwarded", "Via", "X-Real-Ip", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port",
	"X-Forwarded-Server", "X-Forwarded-Prefix", "X-Forwarded-By", "X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Forwarded-User",
	"X-Client-Ip", "X-Original-Forwarded-For", "True-Client-Ip", "Cf-Connecting-Ip",
}

// Proxied returns the name of a header that shows that a proxy has forwarded the request with these
// headers, or "" if none does. A proxy that adds no such header goes unnoticed.
func Proxied(header func(name string) []string) string {
	if header == nil {
		return ""
	}
	for _, name := range proxyHeaders {
		if len(header(name)) > 0 {
			return name
		}
	}
	return ""
}

// LocalOnly reports whether a accepts callers without credentials, but only from this machine:
// whether its method LocalOnly returns true.
func LocalOnly(a Authenticator) bool {
	l, ok := a.(interface{ LocalOnly() bool })
	return ok && l.LocalOnly()
}

// CheckDirect returns an error, with the remedy in its text, if a proxy has forwarded the
// request with these headers. The peer of such a request is the proxy, not the caller, so its
// address does not show that the caller is on this machine.
func CheckDirect(header func(name string) []string) error {
	name := Proxied(header)
	if name == "" {
		return nil
	}
	return apierror.New(a2a.ErrUnauthorized, "this hub has no keys and serves only its own machine, but a proxy forwarded this request (header %s): "+
		"create a key with parley keys add, or set allow_anonymous if the proxy authenticates the callers", name)
}
