package httpfront

import (
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// recognize determines the operation of a JSON-RPC call and the dialect of its answer. Calls of
// v1.0 that name their version skip the detection of dialects.
func (x *exchange) recognize(call *dialect.Call) (dialect.Operation, error) {
	versions := x.versions()
	if o, err := dialect.Lookup(call.Method); err == nil && dialect.Version(versions, dialect.RPC) == nil {
		return o, nil
	}
	var err error
	x.operation, x.shape, err = dialect.Recognize(&dialect.Signs{
		Method:   call.Method,
		Params:   call.Params,
		Versions: versions,
		Root:     x.r.URL.Path == "/",
		Keyed:    len(x.r.Header[auth.HeaderKey]) > 0,
		Lenient:  x.front.cfg.LenientVersion,
		Profiles: x.profiles(),
		Recall:   x.recall,
	})
	return x.operation, err
}

// profiles returns the configured dialects of the caller and of the agent.
func (x *exchange) profiles() []dialect.Shape {
	p := &x.front.cfg.Profiles
	var all []dialect.Shape
	if c := x.caller.Principal; c != nil {
		if s, ok := dialect.ParseShape(p.Callers[c.ID]); ok {
			all = append(all, s)
		}
	}
	if a, ok := x.front.cfg.Engine.Agent(task.Agent(x.route.agent)); ok {
		if s, ok := dialect.ParseShape(p.Agents[a.Name]); ok {
			all = append(all, s)
		}
	}
	return all
}

// recall returns the dialect of a task of the caller.
func (x *exchange) recall(id a2a.TaskID) (dialect.Shape, bool) {
	if x.caller.Principal == nil {
		return dialect.V1, false
	}
	e := x.front.cfg.Engine
	if shape, ok := e.Dialect(x.r.Context(), &x.caller, id); ok {
		return dialect.Shape(shape), true
	}
	// Only clients of some dialects use other ids than those of tasks.
	for _, d := range dialect.Added() {
		if d.Serving.Aliases {
			return d.Shape, e.Aliased(x.r.Context(), &x.caller, id)
		}
	}
	return dialect.V1, false
}

// decoder returns the decoder for the params of the call, which are in v1.0 by now.
func (x *exchange) decoder() *dialect.Decoder {
	if x.shape == dialect.V1 {
		return &x.front.decoder
	}
	return &x.front.filler
}

// usesAliases reports whether the caller identifies tasks by the ids of messages, by its dialect or
// by the profile of its key. Some clients with that profile use v1.0 and v0.3.
func (x *exchange) usesAliases() bool {
	if dialect.Of(x.shape).Serving.Aliases {
		return true
	}
	c := x.caller.Principal
	if c == nil {
		return false
	}
	profile, ok := dialect.ParseShape(x.front.cfg.Profiles.Callers[c.ID])
	return ok && dialect.Of(profile).Serving.Aliases
}

// showsEnded reports whether a subscriber gets a task that has ended instead of an error.
// Some clients subscribe with GET without reading the task first, and fail if the task has ended
// meanwhile; the kits and SDKs subscribe with POST.
func (x *exchange) showsEnded() bool {
	if dialect.Of(x.shape).Serving.ShowsEnded {
		return true
	}
	return x.shape == dialect.V1 && !x.route.rpc && x.r.Method == http.MethodGet && !x.front.cfg.SpecStatuses
}

// subscribeEnded is Engine.Subscribe for a dialect that returns a task that has ended instead
// of refusing it.
func (x *exchange) subscribeEnded(r *op.Subscribe) (*engine.Stream, error) {
	e := x.front.cfg.Engine
	st, err := e.Subscribe(x.r.Context(), &x.caller, r)
	if !errors.Is(err, a2a.ErrUnsupportedOperation) {
		return st, err
	}
	a, getErr := e.Get(x.r.Context(), &x.caller, &op.Get{Target: r.Target, ID: r.ID})
	if getErr != nil || !a.Head.State.Terminal() {
		return nil, err
	}
	return &engine.Stream{First: a, Task: a.Head, Done: true}, nil
}
