package parley

import (
	"cmp"
	"net/http"

	"github.com/parley-a2a/parley/internal/hub"
)

// MCP serves the endpoint /mcp of a hub. A *tools.Endpoint of package tools is one. The hub
// calls each method once.
type MCP interface {
	// Handler returns the handler of /mcp; the caller of a request is the principal in its
	// context (auth.PrincipalFrom). The handler calls the hub through inside, which serves the
	// paths of the hub for the principal in the context of a request. url is the address of the
	// hub, version that of Parley.
	Handler(inside http.Handler, url, version string) http.Handler
	// Close ends the calls of MCP hosts when the hub stops. Their tasks are not canceled.
	Close()
}

// mcpPart is the MCP of a hub as a part of its core.
type mcpPart struct{ *Hub }

func (m mcpPart) Handler(inside http.Handler) http.Handler {
	return m.MCP.Handler(inside, cmp.Or(m.PublicURL, "http://127.0.0.1"), Version)
}

func (m mcpPart) Close() { m.MCP.Close() }

// mcp returns the part of the core, or nil without one.
func (h *Hub) mcp() hub.MCP {
	if h.MCP == nil {
		return nil
	}
	return mcpPart{h}
}
