package adminapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/callgraph"
)

// Graphs counts the calls between callers and agents. *callgraph.Reader implements it. Methods are called
// concurrently.
type Graphs interface {
	// Last returns the graph of the last d. It is shared between all callers.
	Last(ctx context.Context, d time.Duration) (*adminjson.Graph, error)
}

var _ Graphs = (*callgraph.Reader)(nil)

// graphTimes are the times that a graph may cover.
var graphTimes = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// graph answers with the calls of the last hour, day or week.
func (h *Handler) graph(r *http.Request) (*adminjson.Graph, error) {
	d, ok := graphTimes[cmp.Or(r.URL.Query().Get("last"), "day")]
	if !ok {
		return nil, apierror.Field(a2a.ErrInvalidParams, "last", "must be hour, day or week")
	}
	return h.Graphs.Last(r.Context(), d)
}
