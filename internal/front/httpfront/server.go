package httpfront

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server for h whose limits fit a Front: headers must arrive soon, idle
// connections end, and there is no limit on a whole request, because streams live long. The
// Front sets deadlines for bodies and writes itself. The server supports HTTP/1.1 and HTTP/2,
// the latter also without TLS. If h is a Front, the server uses the Front's logger.
func NewServer(h http.Handler) *http.Server {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		Protocols:         &p,
	}
	if f, ok := h.(*Front); ok {
		s.ErrorLog = slog.NewLogLogger(f.cfg.Logger.Handler(), slog.LevelWarn)
	}
	return s
}
