package serve

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// proxyTo returns a reverse proxy that changes nothing, and keeps connections.
func proxyTo(address string) (server, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = &http.Transport{MaxIdleConnsPerHost: 1_000}
	return handler{p}, nil
}
