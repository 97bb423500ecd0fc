// Package mcp serves a hub to hosts of the Model Context Protocol: Hub.MCP of package parley.
//
//	hub := &parley.Hub{MCP: new(mcp.Endpoint), API: true, Directory: new(parley.Directory)}
//
// The tools of the endpoint find agents, send them messages and follow their tasks; tasks,
// artifacts and notes are resources. The tools use /api/v1 and the directory of the hub, as far
// as the hub has them.
//
// # Guarantees
//
// The tools act for the caller of /mcp, with its permissions and no others. A session ends when
// the permissions of its caller change.
//
// # Non-guarantees
//
// The tasks of a call are not canceled when the hub stops.
//
// # Concurrency
//
// An Endpoint is safe for concurrent use once its fields are set. It belongs to one hub.
//
// # Testing
//
// An Endpoint needs no listener: mount the Handler of the hub with net/http/httptest.
package mcp

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
	"github.com/parley-a2a/parley/llm"
)

// Screening selects the treatment of texts of agents that look like orders to a model.
type Screening string

// The ways of screening. Mark is the default.
const (
	// Mark keeps the text and adds a warning.
	Mark Screening = "mark"
	// Redact replaces the suspicious parts by a note.
	Redact Screening = "redact"
	// Refuse withholds the whole text and states the reason.
	Refuse Screening = "refuse"
)

// Endpoint is the endpoint /mcp of a hub. The zero Endpoint offers the tools of the toolbox:
// those that find agents, send messages and follow tasks.
type Endpoint struct {
	// NoToolbox leaves out the tools of the toolbox.
	NoToolbox bool
	// Bridge adds a tool for each skill of an agent.
	Bridge bool
	// Choice selects the tools that are offered, by name. The zero Filter selects all.
	Choice llm.Filter
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
		Guard: guard.Guard{Policy: guard.Policy(e.Screening)}, WriteTime: e.WriteTime, MaxMessage: e.MaxMessage, Logger: e.Logger,
	}
	return e.served.Handler(inside)
}

// Close implements parley.MCP. The hub calls it when it stops.
func (e *Endpoint) Close() { e.served.Close() }
