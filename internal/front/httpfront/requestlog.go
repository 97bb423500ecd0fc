package httpfront

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/clip"
)

// maxLogged is the maximum number of characters of a path or a name in the record of a request.
const maxLogged = 200

// logged is an answer whose status and bytes are counted.
type logged struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (l *logged) WriteHeader(status int) {
	if l.status == 0 && status >= http.StatusOK {
		l.status = status
	}
	l.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (l *logged) Write(b []byte) (int, error) {
	if l.status == 0 {
		l.status = http.StatusOK
	}
	n, err := l.ResponseWriter.Write(b)
	l.bytes += int64(n)
	return n, err
}

// Unwrap serves http.ResponseController.
func (l *logged) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Flush implements http.Flusher.
func (l *logged) Flush() { _ = http.NewResponseController(l.ResponseWriter).Flush() } // the interface has no error

// logRequest logs a request that has ended, unless it is a probe of the hub's health. The record
// has no query, no header and no body, because these may contain secrets, and of a callback no
// path, which names its task.
func (f *Front) logRequest(x *exchange, w *logged, began time.Time) {
	if x.route.kind == atHealth || x.route.kind == atReady {
		return
	}
	path := x.r.URL.Path
	if x.route.kind == atCallback {
		path = callbacks
	}
	attrs := []slog.Attr{
		slog.String(logMethod, clip.Runes(x.r.Method, maxLogged)), slog.String(logPath, clip.Runes(path, maxLogged)),
	}
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, clip.Runes(value, maxLogged)))
		}
	}
	if k := x.route.kind; k >= atRPC && k <= atExtendedCard || k == atJob {
		add("operation", x.labels().Operation)
	}
	add("agent", string(x.seen.agent))
	if p := x.caller.Principal; p != nil {
		add("caller", p.ID)
	}
	attrs = append(attrs, slog.Int("status", w.status), slog.Int64("bytes", w.bytes), slog.Duration("took", time.Since(began)))
	add("reason", x.seen.reason)
	f.cfg.Logger.LogAttrs(x.r.Context(), slog.LevelInfo, "request", attrs...)
}
