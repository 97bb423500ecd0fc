package tools

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
)

// Endpoint is the endpoint /mcp of a hub (Hub.MCP of package parley), where hosts of the Model
// Context Protocol use the hub. Its tools act for the caller of /mcp; tasks, artifacts and notes
// are resources. The tasks of a call are not canceled when the hub stops. The zero Endpoint
// offers the tools of the toolbox. An Endpoint belongs to one hub.
type Endpoint struct {
	// NoToolbox leaves out the tools of the Toolbox.
	NoToolbox bool
	// Bridge adds a tool for each skill of an agent (Skills).
	Bridge bool
	// Choice selects the tools that are offered, by name. The zero Choice selects all.
	Choice Choice
	// Screening is applied to the texts of agents before a model reads them; Mark if it is
	// empty.
	Screening Screening
	// WriteTime is the time that a host may take to accept a write; 30 s.
	WriteTime time.Duration
	// MaxMessage is the maximum size of a message of a host in bytes; 4 MiB.
	MaxMessage int
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	served *endpoint.Endpoint // nil before Handler
}

// Handler implements parley.MCP. The hub calls it.
func (e *Endpoint) Handler(inside http.Handler, url, version string) http.Handler {
	e.served = &endpoint.Endpoint{
		URL: url, Version: version, NoToolbox: e.NoToolbox, Bridge: e.Bridge, Choice: e.Choice,
		Guard: e.Screening.guard(), WriteTime: e.WriteTime, MaxMessage: e.MaxMessage, Logger: e.Logger,
	}
	return e.served.Handler(inside)
}

// Close implements parley.MCP. The hub calls it when it stops.
func (e *Endpoint) Close() { e.served.Close() }
