package httpfront

import (
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// mayIdentify reports whether the request may be one for the extended card. For a JSON-RPC request
// that is unknown until its body is read.
func (x *exchange) mayIdentify() bool { return x.route.rpc || x.route.kind == atExtendedCard }

// credentials returns the credentials of the request.
func (x *exchange) credentials() *auth.Request {
	r := &auth.Request{Header: x.r.Header.Values, RemoteAddr: x.r.RemoteAddr}
	if x.r.TLS != nil {
		r.Chains = x.r.TLS.VerifiedChains
	}
	return r
}

// onlyCard returns the error for a caller that may only read the extended card.
func (x *exchange) onlyCard() error {
	if x.cardCaller == nil {
		return nil
	}
	return x.cardCaller.Err
}

// extendedCard answers GetExtendedAgentCard (specification §3.1.11). The answer is for this
// caller only, so it is not cacheable.
func (x *exchange) extendedCard(r *op.ExtendedCard, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	r.Always = dialect.Of(x.shape).Serving.OwnCard
	v := x.cardCaller
	if v == nil {
		v = &engine.CardCaller{Principal: x.caller.Principal}
	}
	e := x.front.cfg.Engine
	a, err := e.ExtendedCard(v, r)
	if err != nil {
		return e.RefuseCard(x.r.Context(), x.front.cfg.Auth, x.credentials(), err)
	}
	b, err := x.extendedJSON(a, r)
	if err != nil {
		return err
	}
	x.w.Header()["Cache-Control"] = privateNoStore
	if x.shape != dialect.V1 {
		b = x.shape.AppendResult(nil, x.operation, b)
	}
	x.body(http.StatusOK, x.mediaType(), x.envelope().Append(nil, b))
	return nil
}

var privateNoStore = []string{"private, no-store"}

func (x *exchange) extendedJSON(a *engine.Agent, r *op.ExtendedCard) ([]byte, error) {
	f := x.front
	if r.Agent == "" && r.Tenant == "" {
		f.withAllSkills(a, x.caller.Principal, true)
	}
	o := f.cfg.Engine.CardOptions(a, f.cfg.Auth)
	o.NoStreaming, o.BareScopes = f.cfg.NoStreaming, plainGo(x.r.Header)
	f.reach(o, f.base(x.r), a, r.Agent != "" || r.Tenant != "")
	switch {
	case x.shape == dialect.V1:
	case dialect.Of(x.shape).Serving.OwnCard:
		o.ExtendedCard = true // this is the extended card
	default:
		o.Layout = card.Union
	}
	c := a.Extended
	if c == nil {
		c = a.Card
	}
	return card.JSON(c, o)
}

// plainGo reports whether a request comes from a Go program that does not name itself, like
// those with the official SDK. That SDK reads security requirements in its own spelling, see
// card.Options.
func plainGo(h http.Header) bool {
	agents := h["User-Agent"]
	return len(agents) == 1 && strings.HasPrefix(agents[0], "Go-http-client/")
}
