package httpfront

import (
	"net/http"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/front/surface"
)

// welcome finds the surface for a path that the front does not serve itself.
func (x *exchange) welcome() {
	if x.route.kind != noRoute {
		return
	}
	path := x.r.URL.EscapedPath()
	for _, g := range x.front.cfg.Surfaces {
		if methods := g.Methods(path); methods != "" {
			x.route = route{kind: atSurface}
			x.extra, x.methods = g, methods
			return
		}
	}
}

// serveSurface passes the request to the surface.
func (x *exchange) serveSurface() {
	x.in = takeBuffer()
	defer x.release()
	if err := x.requestSurface(); err != nil && !x.wrote {
		x.fail(err)
	}
}

func (x *exchange) requestSurface() error {
	defer x.last()()
	v := &surface.Request{
		Path: x.r.URL.EscapedPath(), Caller: &x.caller, KeepAlive: x.front.cfg.Limits.KeepAlive,
		Adopt: x.adopt, About: x.about, Reply: x.replySurface, Stream: x.streamSurface, Gone: x.gone,
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
	return x.extra.Serve(v)
}

func (x *exchange) replySurface(status int, body []byte) {
	x.w.Header()["Cache-Control"] = noStore
	x.body(status, jsonType, body)
}

// streamSurface starts an event stream.
func (x *exchange) streamSurface() (func([]byte) error, error) {
	if x.front.cfg.NoStreaming {
		return nil, errNoStreaming
	}
	s := &eventWriter{w: x.w, rc: x.rc, timeout: x.front.cfg.Limits.WriteTime, timed: x.r.ProtoMajor > 1}
	x.wrote = true
	x.release()
	s.begin()
	return s.send, nil
}
