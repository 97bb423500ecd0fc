package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/wake"
)

// Set holds the servers of a hub. Its field must not change once it runs.
type Set struct {
	// Clients are the servers. Their names must differ.
	Clients []*Client

	changed wake.Broadcast
}

var _ llm.Source = (*Set)(nil)

// Run keeps all servers running until ctx ends.
func (s *Set) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range s.Clients {
		group.Go(func() error { return c.Run(ctx) })
		group.Go(func() error { s.relay(ctx, c); return nil })
	}
	return group.Wait()
}

// relay passes on the changes of a server's tools.
func (s *Set) relay(ctx context.Context, c *Client) {
	changed := c.Changed()
	for {
		select {
		case <-changed:
			changed = c.Changed() // before the notification, so that none is missed
			s.changed.Send()
		case <-ctx.Done():
			return
		}
	}
}

// Changed implements llm.Source.
func (s *Set) Changed() <-chan struct{} { return s.changed.Next() }

// Tools implements llm.Source. It returns the tools of all servers, in the order of their
// names. An unreachable server keeps its last known tools.
func (s *Set) Tools(ctx context.Context) ([]llm.Tool, error) {
	return s.tools(ctx, func(ctx context.Context, c *Client) ([]llm.Tool, error) { return c.Tools(ctx) })
}

// With returns the tools of all servers for models with a guard of their own, which replaces that of
// the clients.
func (s *Set) With(g guard.Guard) llm.Source { return &view{s, g} }

// view is a Set with the labels of a guard.
type view struct {
	*Set

	guard guard.Guard
}

// Tools implements llm.Source.
func (v *view) Tools(ctx context.Context) ([]llm.Tool, error) {
	return v.tools(ctx, func(ctx context.Context, c *Client) ([]llm.Tool, error) { return c.toolsFor(ctx, v.guard) })
}

// tools joins the tools that list returns for each server.
func (s *Set) tools(ctx context.Context, list func(context.Context, *Client) ([]llm.Tool, error)) ([]llm.Tool, error) {
	found := make([][]llm.Tool, len(s.Clients))
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range s.Clients {
		group.Go(func() (err error) {
			found[i], err = list(ctx, c)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b llm.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b llm.Tool) bool { return a.Name == b.Name }), nil
}

// Status returns the status of each server.
func (s *Set) Status() []Status {
	all := make([]Status, 0, len(s.Clients))
	for _, c := range s.Clients {
		all = append(all, c.Status())
	}
	return all
}

// fit shortens a name that is too long, and appends a hash.
func fit(name string) string {
	if len(name) <= maxName {
		return name
	}
	mark := digest(name)
	return name[:maxName-1-len(mark)] + "_" + mark
}

// digest returns a short hash of a text, in letters and digits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}
