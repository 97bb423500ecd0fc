package grpcbind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// maxExtensions is how many extensions of a call are used. Further ones are ignored like
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

// answering is the agent of an answer, with its confirmation of extensions, if it sent one.
type answering struct {
	agent     task.Agent
	confirmed *engine.Confirmation
}

// answered records the task of an answer and names its extensions, or returns the error of the engine.
func (s *base) answered(ctx context.Context, c *op.Caller, a *engine.Answer, err error) error {
	if err != nil {
		return err
	}
	recordTask(ctx, &a.Head)
	return s.activated(ctx, c, answering{a.Head.Agent, a.Confirmed})
}

// activated names the active extensions of an answer in its header, under the keys that the
// caller has used.
func (s *base) activated(ctx context.Context, c *op.Caller, by answering) error {
	active := s.engine.ActiveIn(by.agent, c.Extensions, by.confirmed)
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
