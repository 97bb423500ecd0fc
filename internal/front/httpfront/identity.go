package httpfront

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/usertoken"
)

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
	x.w.Header()["Connection"] = []string{"close"}
	return errNoConnection
}

// authenticate finds the principal.
func (x *exchange) authenticate() error {
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
	x.caller.Principal = p
	if slot != nil {
		x.caller.Bearer = slot.Token()
	}
	return err
}

// serviceParams returns the headers that an agent may see, with lower-case names (specification
// §3.2.6). Credentials are not among them.
func serviceParams(h http.Header) map[string][]string {
	var params map[string][]string
	for name, values := range h {
		key := paramKey(name)
		if key == "" {
			continue
		}
		if params == nil {
			params = make(map[string][]string, 4)
		}
		params[key] = values
	}
	return params
}

// paramKey returns the lower-case name of a service parameter, or "" if the header is none.
// name must be canonical, as package http stores it.
func paramKey(name string) string {
	switch name {
	case versionHeader:
		return "" // the binding has processed it
	case extensionsHeader:
		return "a2a-extensions"
	case "Traceparent":
		return "traceparent"
	case "Tracestate":
		return "tracestate"
	case "X-Correlation-Id":
		return "x-correlation-id"
	case "X-Parent-Id":
		return "x-parent-id"
	}
	if key := delegation.Param(name); key != "" {
		return key
	}
	if strings.HasPrefix(name, "A2a-") {
		return strings.ToLower(name)
	}
	return ""
}
