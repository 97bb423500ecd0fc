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
	p := &httputil.ReverseProxy{
		// It adds no X-Forwarded-For, which a hub without keys rejects.
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 1_000},
	}
	return handler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise net/http closes the body of the request with the beginning of the answer, which breaks
		// off both if the proxy has not read the end of the body yet.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1.1 has it
		p.ServeHTTP(w, r)
	})}, nil
}
