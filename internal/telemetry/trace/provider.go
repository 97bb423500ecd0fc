package trace

import (
	"reflect"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	nometric "go.opentelemetry.io/otel/metric/noop"
	oteltrace "go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
)

// Scope is the name under which spans and metrics are recorded.
const Scope = "github.com/parley-a2a/parley"

// Tracing reports whether spans are recorded.
func Tracing() bool { return tracer() != nil }

// Metering reports whether metrics are recorded.
func Metering() bool { return meter() != nil }

// On reports whether spans or metrics are recorded.
func On() bool { return Tracing() || Metering() }

// tracing is the tracer of a provider; the tracer is nil if the provider records nothing.
type tracing struct {
	provider oteltrace.TracerProvider
	tracer   oteltrace.Tracer
}

var tracings atomic.Pointer[tracing]

// tracer returns the tracer of the global provider; nil if spans are not recorded.
func tracer() oteltrace.Tracer {
	p := otel.GetTracerProvider()
	t := tracings.Load()
	if t == nil || !same(t.provider, p) {
		t = &tracing{provider: p}
		if _, none := p.(notrace.TracerProvider); !none && !placeholder(p) {
			t.tracer = p.Tracer(Scope)
		}
		tracings.Store(t)
	}
	return t.tracer
}

var meterings atomic.Pointer[instruments]

// meter returns the instruments of the global provider; nil if metrics are not recorded.
func meter() *instruments {
	p := otel.GetMeterProvider()
	m := meterings.Load()
	if m == nil || !same(m.provider, p) {
		m = &instruments{provider: p}
		if _, none := p.(nometric.MeterProvider); !none && !placeholder(p) {
			m.make(p.Meter(Scope))
		}
		meterings.Store(m)
	}
	if !m.on {
		return nil
	}
	return m
}

// same reports whether a and b are the same provider. Values of an incomparable type count as
// the same.
func same(a, b any) bool {
	t := reflect.TypeOf(a)
	return t == reflect.TypeOf(b) && (!t.Comparable() || a == b)
}

// placeholder reports whether p is a placeholder for a provider that was not installed yet. Its
// instruments allocate, and record nothing.
func placeholder(p any) bool {
	t := reflect.TypeOf(p)
	return t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "go.opentelemetry.io/otel/internal/global"
}
