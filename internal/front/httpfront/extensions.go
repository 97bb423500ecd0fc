package httpfront

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// The headers that name extensions, as package http spells them: that of v1.0
// (specification §3.2.6), and that of v0.3.
const (
	extensionsHeader   = "A2a-Extensions"
	extensionsHeaderV0 = "X-A2a-Extensions"
)

// maxExtensions is how many extensions of a request are used. Further ones are ignored like
// unknown ones.
const maxExtensions = 100

// extensions returns the extension URIs that the caller names, each once
// (specification §4.6.1).
func extensions(h http.Header) []string {
	var uris []string
	for _, name := range [...]string{extensionsHeader, extensionsHeaderV0} {
		for _, list := range h[name] {
			for uri := range strings.SplitSeq(list, ",") {
				uri = strings.TrimSpace(uri)
				if uri != "" && len(uris) < maxExtensions && !slices.Contains(uris, uri) {
					uris = append(uris, uri)
				}
			}
		}
	}
	return uris
}

// activated names the active extensions of a call in the headers of the answer: always in the
// header of v1.0, and in that of v0.3 for a caller that used it. said holds the agent's
// confirmation, if it sent one.
func (x *exchange) activated(agent task.Agent, text *engine.Confirmation) {
	if len(x.caller.Extensions) == 0 {
		return
	}
	active := x.front.cfg.Engine.ActiveIn(agent, x.caller.Extensions, text)
	if x.takesIDs() && slices.Contains(x.caller.Extensions, card.ClientTaskIDs) && !slices.Contains(active, card.ClientTaskIDs) {
		active = append(active, card.ClientTaskIDs)
	}
	if len(active) == 0 {
		return
	}
	list := []string{strings.Join(active, ",")}
	h := x.w.Header()
	h[extensionsHeader] = list
	if len(x.r.Header[extensionsHeaderV0]) > 0 {
		h[extensionsHeaderV0] = list
	}
}
