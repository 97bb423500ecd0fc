package httpfront

import (
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/hosts"
)

// guard refuses requests that may come from elsewhere to a hub for callers on this machine: by way
// of a proxy, or from a web page in a browser. Probes are always answered: they disclose and
// change nothing, and load balancers choose neither Host nor headers.
func (x *exchange) guard() error {
	if x.inside || x.route.kind == atHealth || x.route.kind == atReady {
		return nil
	}
	names := x.front.names
	if auth.LocalOnly(x.front.cfg.Auth) {
		if err := auth.CheckDirect(x.r.Header.Values); err != nil {
			return err
		}
		names = (*hosts.Names)(nil) // a proxy that keeps Host would reach the hub by a configured name
	}
	if !x.front.guarded {
		return nil
	}
	if err := names.CheckOrigin(x.r); err != nil {
		return err
	}
	refused := names.CheckHost(x.r.Host)
	if refused == nil || x.r.Header["Authorization"] == nil && x.r.Header[auth.HeaderKey] == nil {
		return refused
	}
	// A page that uses another name for the hub does not have the credentials of a caller.
	if err := x.authenticate(); err != nil {
		return err
	}
	if x.caller.Principal.Anonymous() && (x.cardCaller == nil || !x.cardCaller.Token) {
		return refused
	}
	return nil
}
