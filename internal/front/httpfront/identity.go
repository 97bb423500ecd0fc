package httpfront

import (
	"context"
	"errors"
	"net/http"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// last makes the request end at the latest with the credentials of its caller. A request from
// inside ends with the one that it serves.
func (x *exchange) last() (stop context.CancelFunc) {
	if x.inside || !auth.Ends(x.front.cfg.Auth, x.caller.Principal) {
		return func() {}
	}
	ctx, stop := auth.While(x.r.Context(), x.front.cfg.Auth, x.credentials(), x.caller.Principal)
	x.r = x.r.WithContext(ctx)
	return stop
}

// identify determines the caller and the extensions that it names.
func (x *exchange) identify() error {
	if err := x.authenticate(); err != nil {
		return err
	}
	x.caller.Extensions, x.caller.From = extensions(x.r.Header), x.r.RemoteAddr
	return nil
}

// authenticate finds the principal.
func (x *exchange) authenticate() error {
	if x.identified {
		return nil
	}
	err := x.findCaller()
	x.identified = err == nil
	return err
}

func (x *exchange) findCaller() error {
	if x.inside {
		if x.caller.Principal = auth.PrincipalFrom(x.r.Context()); auth.Known(x.caller.Principal) != nil {
			return auth.ErrUnauthenticated
		}
		return nil
	}
	if x.front.token && x.mayIdentify() {
		v, err := x.front.cfg.Engine.AuthenticateCard(x.r.Context(), x.front.cfg.Auth, x.credentials())
		if err != nil {
			return err
		}
		x.cardCaller, x.caller.Principal = &v, v.Principal
		return nil
	}
	ctx, slot := x.r.Context(), (*usertoken.Slot)(nil)
	if x.front.cfg.Engine.WantsBearers() {
		slot = new(usertoken.Slot)
		ctx = usertoken.Collect(ctx, slot)
	}
	p, err := x.front.cfg.Auth.Authenticate(ctx, x.credentials())
	if err == nil {
		err = auth.Known(p)
	}
	if errors.Is(err, apierror.ErrUnavailable) {
		err = &httpError{status: http.StatusServiceUnavailable, err: err} // on JSON-RPC, too
	}
	x.caller.Principal = p
	if slot != nil {
		x.caller.Bearer = slot.Token()
	}
	return err
}
