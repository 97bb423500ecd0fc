package grpcbind

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// GetExtendedAgentCard implements pb.A2AServiceServer (specification §3.1.11).
func (s *service) GetExtendedAgentCard(ctx context.Context, r *pb.GetExtendedAgentCardRequest) (out *pb.AgentCard, err error) {
	const o = dialect.GetExtendedAgentCard
	performs(ctx, &s.base, o)
	defer s.recovered(o, &err)
	if out, err = s.extendedCard(ctx, r); err != nil {
		return nil, s.fail(ctx, o, err)
	}
	return out, nil
}

func (s *service) extendedCard(ctx context.Context, r *pb.GetExtendedAgentCardRequest) (*pb.AgentCard, error) {
	shown, err := s.shownCardFor(ctx, func(c *op.Caller) (*op.ExtendedCard, error) {
		return decode(ctx, &s.base, input{c, r}, s.decoder.Extended)
	})
	if err != nil {
		return nil, err
	}
	c := card.Complete(shown.card, shown.options)
	if c.Signatures, err = card.Signatures(shown.card, shown.options); err != nil {
		return nil, err
	}
	out, err := pbconv.ToProtoAgentCard(c)
	if err != nil {
		return nil, fmt.Errorf("extended card of %q: %w", shown.agent, err)
	}
	return out, nil
}

// shownCard is an extended card before it is converted to a version.
type shownCard struct {
	agent   task.Agent
	card    *a2a.AgentCard
	options *card.Options
}

// shownCardFor determines the extended card for the caller. read decodes the request once the
// caller is known to be allowed to send it.
func (s *base) shownCardFor(ctx context.Context, read func(*op.Caller) (*op.ExtendedCard, error)) (*shownCard, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	e, caller := s.engine, request(ctx, md)
	v, err := e.AuthenticateCard(ctx, s.cfg.Auth, caller)
	if err != nil {
		return nil, err
	}
	c := &op.Caller{Principal: v.Principal}
	if err := s.limiter.Request(owner(c)); err != nil {
		return nil, err
	}
	if err := s.checkVersion(md); err != nil {
		return nil, err
	}
	in, err := read(c)
	if err != nil {
		return nil, err
	}
	a, err := e.ExtendedCard(&v, in)
	if err != nil {
		return nil, e.RefuseCard(ctx, s.cfg.Auth, caller, err)
	}
	return s.extendedOf(a, in, md), nil
}

// extendedOf returns the extended card of an agent.
func (s *base) extendedOf(a *engine.Agent, r *op.ExtendedCard, md metadata.MD) *shownCard {
	o := s.engine.CardOptions(a, s.cfg.Auth)
	o.NoStreaming = s.cfg.NoStreaming
	// The caller has reached the agent, whether or not its version has a name for it.
	p := card.Endpoint{Base: s.cfg.PublicURL, Agent: r.Tenant, Default: true}
	if names := md[":authority"]; len(names) > 0 {
		p.GRPC = names[0]
	}
	o.Interfaces, o.Legacy = reachable(&p, card.Interfaces(p)), reachable(&p, card.LegacyInterfaces(p))
	c := a.Extended
	if c == nil {
		c = a.Card
	}
	return &shownCard{agent: a.Name, card: c, options: o}
}

// reachable returns the interfaces of an agent with a known address.
func reachable(p *card.Endpoint, all []*a2a.AgentInterface) []*a2a.AgentInterface {
	var list []*a2a.AgentInterface
	for _, i := range all {
		if p.Base != "" || i.ProtocolBinding == a2a.TransportProtocolGRPC {
			list = append(list, i)
		}
	}
	return list
}
