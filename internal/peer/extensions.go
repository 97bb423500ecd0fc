package peer

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/dialect"
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

// injectExtensions puts the extensions of ctx into the header of a request, as the dialect
// names it.
func injectExtensions(ctx context.Context, h http.Header, s dialect.Shape) {
	uris, _ := ctx.Value(extensionsKey{}).([]string)
	if len(uris) == 0 {
		return
	}
	name := extensionsHeader
	switch s {
	case dialect.V03, dialect.V03Proto, dialect.PromptKit:
		name = extensionsHeaderV0
	}
	var all []string
	for uri := range strings.SplitSeq(strings.Join(append(h.Values(name), uris...), ","), ",") {
		if uri = strings.TrimSpace(uri); uri != "" && headerValue(uri) && !slices.Contains(all, uri) {
			all = append(all, uri)
		}
	}
	h[name] = []string{strings.Join(all, ",")}
}
