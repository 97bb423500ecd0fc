package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// The headers in the spelling of service parameters (specification §3.2.6).
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
	correlation = "x-correlation-id"
	parent      = "x-parent-id"
)

// The headers of the ids in the spelling of package http.
const (
	CorrelationHeader = "X-Correlation-Id"
	ParentHeader      = "X-Parent-Id"
)

// Limits of a trace context (Trace Context §3.2 and §3.3). A later version than the known one
// may have a longer traceparent.
const (
	maxParent = 128
	maxState  = 512
)

var w3c propagation.TraceContext

// params are service parameters by lower-case name.
type params map[string][]string

// Get implements propagation.TextMapCarrier. All values of a tracestate are joined; of other
// headers only a single value is valid.
func (p params) Get(key string) string {
	values := p[key]
	switch {
	case len(values) == 0:
		return ""
	case key == tracestate:
		return strings.Join(values, ",")
	case len(values) > 1 || len(values[0]) > maxParent:
		return ""
	}
	return values[0]
}

// Set implements propagation.TextMapCarrier.
func (p params) Set(key, value string) { p[key] = []string{value} }

// Keys implements propagation.TextMapCarrier.
func (p params) Keys() []string { return []string{traceparent, tracestate} }

// id returns the id in a header, or "".
func (p params) id(key string) string {
	if values := p[key]; len(values) == 1 && Usable(values[0]) {
		return values[0]
	}
	return ""
}

// Clean removes from service parameters, which may be nil, invalid or overlong trace contexts
// and ids.
func Clean(p map[string][]string) {
	if _, there := p[traceparent]; there {
		if !remote(p).IsValid() {
			delete(p, traceparent)
		}
	}
	if _, there := p[tracestate]; there {
		state := params(p).Get(tracestate)
		if _, err := oteltrace.ParseTraceState(state); err != nil || len(state) > maxState || p[traceparent] == nil {
			delete(p, tracestate)
		}
	}
	for _, key := range [...]string{correlation, parent} {
		if _, there := p[key]; there && params(p).id(key) == "" {
			delete(p, key)
		}
	}
}

// remote returns the trace context of service parameters; it is invalid if they have none.
func remote(p map[string][]string) oteltrace.SpanContext {
	if len(p[traceparent]) == 0 {
		return oteltrace.SpanContext{}
	}
	return oteltrace.SpanContextFromContext(w3c.Extract(context.Background(), params(p)))
}

// ID returns the id of the trace in service parameters, which may be nil; empty if they have none.
func ID(p map[string][]string) string {
	sc := remote(p)
	if !sc.IsValid() {
		return ""
	}
	return sc.TraceID().String()
}

// HeaderIDs returns the ids of service parameters.
func HeaderIDs(p map[string][]string) IDs {
	return IDs{Correlation: params(p).id(correlation), Parent: params(p).id(parent)}
}

// Extract returns ctx with the trace context of service parameters, which may be nil. HeaderIDs
// returns their ids.
func Extract(ctx context.Context, p map[string][]string) context.Context {
	if sc := remote(p); sc.IsValid() {
		return oteltrace.ContextWithRemoteSpanContext(ctx, sc)
	}
	return ctx
}

// Store puts the trace context and the ids of ctx into service parameters, so that later work
// with them joins the trace. It returns p, or a new map if p is nil.
func Store(ctx context.Context, p map[string][]string) map[string][]string {
	ids, sc := IDsFrom(ctx), oteltrace.SpanContextFromContext(ctx)
	if sc.IsValid() {
		if p == nil {
			p = make(map[string][]string, 4)
		}
		delete(p, tracestate)
		w3c.Inject(ctx, params(p))
	}
	return StoreIDs(p, ids)
}

// StoreIDs puts ids into service parameters. It returns p, or a new map if p is nil.
func StoreIDs(p map[string][]string, ids IDs) map[string][]string {
	for _, id := range [...]struct{ key, value string }{{correlation, ids.Correlation}, {parent, ids.Parent}} {
		if id.value == "" {
			continue
		}
		if p == nil {
			p = make(map[string][]string, 2)
		}
		p[id.key] = []string{id.value}
	}
	return p
}

// Headers returns the trace context of ctx as headers of a message (W3C Trace Context): empty without one.
func Headers(ctx context.Context) map[string]string {
	h := propagation.MapCarrier{}
	w3c.Inject(ctx, h)
	return h
}

// Inject puts the trace context and the ids of ctx into the header of a request to the next
// hop. Existing ids stay.
func Inject(ctx context.Context, h http.Header) {
	w3c.Inject(ctx, propagation.HeaderCarrier(h))
	Echo(h, IDsFrom(ctx))
}

// Echo puts ids into the header of an answer or a request, unless it has them.
func Echo(h http.Header, ids IDs) {
	for _, id := range [...]struct{ key, value string }{{CorrelationHeader, ids.Correlation}, {ParentHeader, ids.Parent}} {
		if id.value != "" && len(h[id.key]) == 0 {
			h[id.key] = []string{id.value}
		}
	}
}

// Environ returns the trace context of ctx as environment variables for a program: TRACEPARENT,
// and TRACESTATE if there is one. It returns nil without a trace.
func Environ(ctx context.Context) []string {
	h := Headers(ctx)
	var env []string
	for _, key := range [...]string{traceparent, tracestate} {
		if v := h[key]; v != "" {
			env = append(env, strings.ToUpper(key)+"="+v)
		}
	}
	return env
}

// Recorded returns the trace context and the ids that are stored with a message
// (task.Entry.Call), which may be nil; nil if there are none.
func Recorded(call []byte) map[string][]string {
	if !bytes.Contains(call, []byte(`"params"`)) {
		return nil
	}
	var record struct {
		Params map[string][]string `json:"params"`
	}
	if json.Unmarshal(call, &record) != nil {
		return nil
	}
	p := record.Params
	maps.DeleteFunc(p, func(key string, _ []string) bool {
		return key != traceparent && key != tracestate && key != correlation && key != parent
	})
	Clean(p)
	return p
}
