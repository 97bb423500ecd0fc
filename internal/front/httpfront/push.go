package httpfront

import (
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
)

// errNoPush takes precedence over all other errors of a call about push notification configs
// (specification §3.3.4).
var errNoPush = apierror.New(a2a.ErrPushNotificationNotSupported, "push notifications are not supported here")

// pushREST performs the operation on push notification configs that the path and the
// method name.
func (x *exchange) pushREST(body []byte) error {
	if !x.front.cfg.Engine.Pushes() {
		return errNoPush
	}
	id, config, query := a2a.TaskID(x.route.task), x.route.config, x.r.URL.RawQuery
	switch d := &x.front.decoder; {
	case x.route.kind == atPushConfigs && x.r.Method == http.MethodPost:
		r, err := d.CreatePushAt(id, body)
		return x.createPush(r, err)
	case x.route.kind == atPushConfigs:
		r, err := d.PushListAt(id, query)
		return x.listPush(r, err)
	case x.r.Method == http.MethodDelete:
		r, err := d.PushRefAt(id, config, query)
		return x.deletePush(r, err)
	default:
		r, err := d.PushRefAt(id, config, query)
		return x.getPush(r, err)
	}
}

// pushRPC performs an operation on push notification configs.
func (x *exchange) pushRPC(o dialect.Operation, params []byte) error {
	if !x.front.cfg.Engine.Pushes() {
		return errNoPush
	}
	switch d := x.decoder(); o {
	case dialect.CreatePushConfig:
		r, err := d.CreatePush(params)
		return x.createPush(r, err)
	case dialect.ListPushConfigs:
		r, err := d.PushList(params)
		return x.listPush(r, err)
	case dialect.DeletePushConfig:
		r, err := d.PushRef(params)
		return x.deletePush(r, err)
	default:
		if x.shape == dialect.V03 && dialect.AnyPush(params) {
			r, err := d.PushList(params)
			return x.anyPush(r, err)
		}
		r, err := d.PushRef(params)
		return x.getPush(r, err)
	}
}

func (x *exchange) createPush(r *op.PushConfig, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	r.Dialect = uint8(x.shape)
	c, err := x.front.cfg.Engine.CreatePush(x.r.Context(), &x.caller, r)
	return x.pushConfig(c, err)
}

func (x *exchange) getPush(r *op.PushRef, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	c, err := x.front.cfg.Engine.GetPush(x.r.Context(), &x.caller, r)
	return x.pushConfig(c, err)
}

// pushConfig sends a config, or returns the error of the engine. A created config is answered
// with 200 like any other result, because clients require exactly that.
func (x *exchange) pushConfig(c *op.ShownPush, err error) error {
	if err != nil {
		return err
	}
	x.result(func(dst []byte) []byte { return dialect.AppendPushConfig(dst, c) })
	return nil
}

func (x *exchange) listPush(r *op.PushList, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	p, err := x.front.cfg.Engine.ListPush(x.r.Context(), &x.caller, r)
	if err != nil {
		return err
	}
	x.result(func(dst []byte) []byte { return dialect.AppendPushPage(dst, p) })
	return nil
}

func (x *exchange) deletePush(r *op.PushRef, err error) error {
	if err != nil {
		return err
	}
	x.agent(&r.Target)
	if err := x.front.cfg.Engine.DeletePush(x.r.Context(), &x.caller, r); err != nil {
		return err
	}
	if x.wantsResult() {
		x.result(dialect.AppendEmpty)
		return nil
	}
	x.w.Header()["Cache-Control"] = noStore
	x.status(http.StatusNoContent)
	return nil
}

// wantsResult reports whether the caller expects the results of the specification: an empty
// object for an empty result, and a bare message if the agent answers with one. Official
// clients name the protocol's version, as they must. Callers over HTTP+JSON that name none
// expect other results: status 204, and always a task.
func (x *exchange) wantsResult() bool {
	return x.route.rpc || x.specified()
}
