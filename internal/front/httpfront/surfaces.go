package httpfront

import (
	"net/http"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/front/surface"
)

// welcome finds the surface for a path that the front does not serve itself.
func (x *exchange) welcome() {
	if x.route.place != nowhere {
		return
	}
	path := x.r.URL.EscapedPath()
	for _, g := range x.front.cfg.Guests {
		if methods := g.Methods(path); methods != "" {
			x.route = route{place: atGuest}
			x.guest, x.methods = g, methods
			return
		}
	}
}

// serveGuest passes the request to the surface.
func (x *exchange) serveGuest() {
	x.in = takeBuffer()
	defer x.release()
	if err := x.visitGuest(); err != nil && !x.wrote {
		x.fail(err)
	}
}

func (x *exchange) visitGuest() error {
	v := &surface.Visit{
		Path: x.r.URL.EscapedPath(), Caller: &x.caller, KeepAlive: x.front.cfg.Limits.KeepAlive,
		Adopt: x.adopt, About: x.about, Reply: x.replyGuest, Stream: x.streamGuest, Gone: x.gone,
		Header:  x.w.Header(),
		Explain: func(err error) dialect.Report { return x.report(err, "") },
	}
	if x.r.Method == http.MethodPost {
		if err := x.readRPC(); err != nil {
			return err
		}
		v.Body = x.in.b
	}
	key, err := x.idempotencyKey()
	if err != nil {
		return err
	}
	v.Key, v.Request = key, x.r
	return x.guest.Serve(v)
}

func (x *exchange) replyGuest(status int, body []byte) {
	x.w.Header()["Cache-Control"] = noStore
	x.body(status, jsonType, body)
}

// streamGuest starts an event stream.
func (x *exchange) streamGuest() (func([]byte) error, error) {
	if x.front.cfg.NoStreaming {
		return nil, errNoStreaming
	}
	s := &sse{w: x.w, rc: x.rc, timeout: x.front.cfg.Limits.WriteTime, timed: x.r.ProtoMajor > 1}
	x.wrote = true
	x.release()
	s.begin()
	return s.send, nil
}
