package agent

import (
	"context"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// CardRequest describes a request for a public card. The requester is not authenticated.
type CardRequest struct {
	// Host is the requested host.
	Host string
	// Header are the headers of the request. They must not be changed.
	Header http.Header
}

// Carder is an executor whose public card depends on the request, for example on the reader's
// language.
type Carder interface {
	// CardFor returns the card for r, or nil for the registered one. The hub adds addresses,
	// capabilities and credentials, as to any card, and marks the response as not cacheable.
	// The registered card still decides which content types and skills the agent accepts.
	// CardFor may be called concurrently.
	CardFor(ctx context.Context, r *CardRequest) *a2a.AgentCard
}
