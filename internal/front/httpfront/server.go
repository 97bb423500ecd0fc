package httpfront

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/limits"
)

// maxHead is the size of a request head in bytes, as HTTP/2 counts it, above which the request is
// refused. Heads are read up to readHead: a larger one ends its connection, over HTTP/2 with all other
// requests on it.
const (
	maxHead  = 64 << 10
	readHead = 256 << 10
)

// window is the number of bytes of a body that HTTP/2 receives before the handler reads them.
const window = 128 << 10

// NewServer returns a server for h whose limits fit a Front: headers must arrive soon, idle
// connections end, and there is no limit on a whole request, because streams live long. The
// Front sets deadlines for bodies and writes itself. The server supports HTTP/1.1 and HTTP/2,
// the latter also without TLS, and pings quiet connections of HTTP/2. If h is a Front, the server
// uses the Front's logger and Limits.KeepAlive.
func NewServer(h http.Handler) *http.Server {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    readHead,
		Protocols:         &p,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: window, SendPingTimeout: limits.Limits{}.WithDefaults().KeepAlive, PingTimeout: 20 * time.Second,
		},
	}
	if f, ok := h.(*Front); ok {
		s.HTTP2.SendPingTimeout = f.cfg.Limits.KeepAlive
		s.ErrorLog = slog.NewLogLogger(f.cfg.Logger.Handler(), slog.LevelWarn)
	}
	return s
}

// headSize returns the size of the head of a request as HTTP/2 counts it (RFC 9113 §6.5.2).
func headSize(r *http.Request) int {
	n := len(r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + 32
		}
	}
	return n
}
