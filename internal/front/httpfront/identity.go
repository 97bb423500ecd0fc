package httpfront

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/front/conns"
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
	err := x.authenticate()
	if err != nil {
		return err
	}
	if err := x.keep(); err != nil {
		return err
	}
	x.caller.Extensions, x.caller.From = extensions(x.r.Header), x.r.RemoteAddr
	return nil
}

// errNoConnection refuses a caller on a connection beyond the limit.
var errNoConnection = &apierror.Error{
	Err: apierror.ErrExhausted, Message: "the hub has no connection for this caller now: all are at work", RetryAfter: 5 * time.Second,
}

// keep refuses the request if its connection is beyond the limit, and the caller is not an
// administrator.
func (x *exchange) keep() error {
	p := x.caller.Principal
	admin := p != nil && !p.Anonymous() && slices.Contains(p.Roles, auth.RoleAdmin)
	if x.inside || conns.Keep(x.r.Context(), admin) {
		return nil
	}
	x.w.Header()["Connection"], x.cut = []string{"close"}, true
	return errNoConnection
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
		return x.identifyCardCaller()
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
