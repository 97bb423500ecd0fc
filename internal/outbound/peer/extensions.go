package peer

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// The headers that name extensions: that of v1.0 (specification §3.2.6), and that of v0.3.
const (
	extensionsHeader   = "A2a-Extensions"
	extensionsHeaderV0 = "X-A2a-Extensions"
)

type extensionsKey struct{}

// WithExtensions returns a context whose calls name the extensions with these URIs, beside
// those of Options.Header.
func WithExtensions(ctx context.Context, uris []string) context.Context {
	if len(uris) == 0 {
		return ctx
	}
	return context.WithValue(ctx, extensionsKey{}, uris)
}

type confirmedKey struct{}

// WithConfirmed returns a context whose sends report to f the extensions that the header of an
// answer confirms: their URIs as the peer writes them, none if the header names none. If a call
// has several tries, the last report is valid. An answer that is an error is not reported. f is
// called by the goroutine that makes the call, before the call returns; nil ends the reports of
// ctx.
func WithConfirmed(ctx context.Context, f func(uris []string)) context.Context {
	return context.WithValue(ctx, confirmedKey{}, f)
}

// Confirmed returns the f of WithConfirmed; nil if there is none. It is for a Conn, which
// reports the values of the metadata that ConfirmedBy reads.
func Confirmed(ctx context.Context) func(uris []string) {
	f, _ := ctx.Value(confirmedKey{}).(func([]string))
	return f
}

// maxConfirmed is how many extensions of an answer are used. Callers cannot name more.
const maxConfirmed = 100

// ConfirmedBy returns the extensions that headers name, each once. get returns the values of a
// header by its lower-case name.
func ConfirmedBy(get func(name string) []string) []string {
	var uris []string
	for _, name := range [...]string{extensionsHeader, extensionsHeaderV0} {
		for _, list := range get(strings.ToLower(name)) {
			for uri := range strings.SplitSeq(list, ",") {
				uri = strings.TrimSpace(uri)
				if uri != "" && len(uris) < maxConfirmed && !slices.Contains(uris, uri) {
					uris = append(uris, uri)
				}
			}
		}
	}
	return uris
}

// confirmed reports the extensions that the header of the answer to a confirms.
func confirmed(ctx context.Context, a *ask, h http.Header) {
	if f := Confirmed(ctx); f != nil && a.sends() {
		f(ConfirmedBy(h.Values))
	}
}

// reporting returns the context for a call over a Conn, which cannot decide by itself whether
// to report.
func reporting(ctx context.Context, a *ask) context.Context {
	if a.sends() || Confirmed(ctx) == nil {
		return ctx
	}
	return WithConfirmed(ctx, nil)
}

// injectExtensions adds the extensions of ctx to the header of a request, in the form of the
// dialect.
func injectExtensions(ctx context.Context, h http.Header, s dialect.Shape) {
	uris, _ := ctx.Value(extensionsKey{}).([]string)
	if len(uris) == 0 {
		return
	}
	name := extensionsHeader
	if dialect.Of(s).Version == "0.3" {
		name = extensionsHeaderV0
	}
	var all []string
	for uri := range strings.SplitSeq(strings.Join(append(h.Values(name), uris...), ","), ",") {
		if uri = strings.TrimSpace(uri); uri != "" && httpcall.HeaderValue(uri) && !slices.Contains(all, uri) {
			all = append(all, uri)
		}
	}
	h[name] = []string{strings.Join(all, ",")}
}
