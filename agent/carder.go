package agent

import (
	"context"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// CardRequest is what is known of a request for a public card. Nobody has checked who
// asks.
type CardRequest struct {
	// Host is the host that was asked.
	Host string
	// Header are the headers of the request. They must not be changed.
	Header http.Header
}

// Carder is an executor whose public card depends on the request, such as one that says
// what it does in the language of the reader.
type Carder interface {
	// CardFor returns the card for r, or nil for the registered one. The hub adds
	// addresses, capabilities and credentials, as to any card, and tells caches not to
	// keep it. What the agent takes and can do is still what its registered card says.
	// CardFor may be called concurrently.
	CardFor(ctx context.Context, r *CardRequest) *a2a.AgentCard
}

// CarderOf returns e as a Carder, also if it was given traits; nil if it is none.
func CarderOf(e a2asrv.AgentExecutor) Carder {
	if d, ok := e.(described); ok {
		return CarderOf(d.AgentExecutor)
	}
	c, _ := e.(Carder)
	return c
}
