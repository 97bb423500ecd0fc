package server

import (
	"cmp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
)

// mcp returns the endpoint /mcp, or nil if it is off.
func (h *Hub) mcp() hub.MCP {
	c := &h.cfg.MCP
	if c.Off || h.cfg.Conformance {
		return nil
	}
	return &endpoint.Endpoint{
		URL: cmp.Or(h.cfg.PublicURL, h.URL()), Version: parley.Version, NoToolbox: c.NoToolbox, Bridge: c.Bridge, Choice: c.Choice(),
		Guard: h.cfg.Safety.Guard(), WriteTime: duration(h.cfg.Limits.WriteTime), MaxMessage: int(h.cfg.Limits.Body), Logger: h.logger,
	}
}
