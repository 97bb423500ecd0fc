package adminapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/callgraph"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/operator"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/internal/trust"
)

// Families returns the families of paths that a policy covers.
func Families() []string { return slices.Collect(maps.Keys(families)) }

// Route is a route of a hub with all its parts.
type Route struct {
	Method, Path string
	// In and Out are the types of the body and of the answer; nil without one.
	In, Out reflect.Type
	// Stream is set for a stream of events.
	Stream bool
	// Reads and Changes are who may use it with methods that read and that change: "every caller",
	// or "administrators".
	Callers string
	// Scoped is set if ?scope=all selects the tasks of all owners, for administrators.
	Scoped bool
}

// Routes returns all routes, by path and method.
func Routes() []Route {
	h := &Handler{
		Trees: new(engine.Engine), Logs: new(engine.Engine), Reader: new(engine.Engine), Tasks: new(memstore.Store), Keys: new(auth.Keyring),
		Directory: new(directory.Directory), Broker: new(broker.Broker), Push: new(Push), Inbox: new(inbox.Inbox), Control: new(operator.Operator),
		Dead: new(queue.DeadLetters), Trust: new(trust.Registry), Events: new(events.Recorder), Memory: new(Memory), AuditLog: new(AuditLog), Samples: new(samples.Ring), Graphs: callgraph.New(nil), Checker: noChecker{},
	}
	var all []Route
	for pattern, t := range h.routes() {
		method, path, _ := strings.Cut(pattern, " ")
		r := Route{Method: method, Path: Root + path, In: t.call.in, Out: t.call.out, Stream: t.stream != nil, Callers: "every caller"}
		if t.access == secret || t.access != own && method != "GET" {
			r.Callers = "administrators"
		}
		r.Scoped = slices.Contains(scoped, method+" "+Root+path)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	return all
}

type noChecker struct{ Checker }

// OpenAPI is the description of the API.
var OpenAPI = openapi
