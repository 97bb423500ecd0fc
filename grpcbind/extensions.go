package grpcbind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// maxExtensions is how many extensions of a call count. Further ones are ignored like
// unknown ones.
const maxExtensions = 100

// extensions returns the extension URIs that the caller names, each once
// (specification §4.6.1).
func extensions(md metadata.MD) []string {
	var uris []string
	for _, key := range [...]string{keyExtensions, keyExtensions0} {
		for _, uri := range split(md[key]) {
			if len(uris) < maxExtensions && !slices.Contains(uris, uri) {
				uris = append(uris, uri)
			}
		}
	}
	return uris
}

// activated names the extensions that are active in a call of the agent in the header
// of the answer, under the keys that the caller has used.
func (s *side) activated(ctx context.Context, c *op.Caller, agent task.Agent) error {
	active := s.cfg.Engine.Activated(agent, c.Extensions)
	if len(active) == 0 {
		return nil
	}
	md := metadata.Pairs(keyExtensions, strings.Join(active, ","))
	if len(metadata.ValueFromIncomingContext(ctx, keyExtensions0)) > 0 {
		md[keyExtensions0] = md[keyExtensions]
	}
	if err := grpc.SetHeader(ctx, md); err != nil {
		return fmt.Errorf("set header: %w", err)
	}
	return nil
}
