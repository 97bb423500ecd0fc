package grpcbind

import (
	"context"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/card"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
)

// GetExtendedAgentCard implements pb.A2AServiceServer (specification §3.1.11).
func (s *service) GetExtendedAgentCard(ctx context.Context, r *pb.GetExtendedAgentCardRequest) (out *pb.AgentCard, err error) {
	const o = dialect.GetExtendedAgentCard
	defer s.recovered(o, &err)
	if out, err = s.extendedCard(ctx, r); err != nil {
		return nil, s.fail(ctx, o, err)
	}
	return out, nil
}

func (s *service) extendedCard(ctx context.Context, r *pb.GetExtendedAgentCardRequest) (*pb.AgentCard, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	e, who := s.cfg.Engine, &auth.Request{Header: md.Get, RemoteAddr: remoteAddr(ctx)}
	v, err := e.Visit(ctx, s.cfg.Auth, who)
	if err != nil {
		return nil, err
	}
	c := &op.Caller{Principal: v.Principal}
	if err := s.limiter.Request(owner(c)); err != nil {
		return nil, err
	}
	if err := checkVersion(md); err != nil {
		return nil, err
	}
	in, err := decode(s, c, r, s.decoder.Extended)
	if err != nil {
		return nil, err
	}
	a, err := e.ExtendedCard(&v, in)
	if err != nil {
		return nil, e.RefuseVisit(ctx, s.cfg.Auth, who, err)
	}
	return s.cardOf(a, in, md)
}

// cardOf returns the extended card of an agent.
func (s *service) cardOf(a *engine.Agent, r *op.ExtendedCard, md metadata.MD) (*pb.AgentCard, error) {
	o := s.cfg.Engine.CardOptions(a, s.cfg.Auth)
	o.NoStreaming = s.cfg.NoStreaming
	o.Interfaces = s.interfaces(r.Tenant, md)
	c := a.Extended
	if c == nil {
		c = a.Card
	}
	out, err := pbconv.ToProtoAgentCard(card.Complete(c, o))
	if err != nil {
		return nil, fmt.Errorf("extended card of %q: %w", a.Name, err)
	}
	return out, nil
}

// interfaces returns the ways to reach an agent: those over HTTP, if it is known
// where that is, and the one that the caller has taken.
func (s *service) interfaces(tenant string, md metadata.MD) []*a2a.AgentInterface {
	p := card.Place{Base: s.cfg.PublicURL, Agent: tenant}
	if names := md[":authority"]; len(names) > 0 {
		p.GRPC = names[0]
	}
	var list []*a2a.AgentInterface
	for _, i := range card.Interfaces(p) {
		if p.Base != "" || i.ProtocolBinding == a2a.TransportProtocolGRPC {
			list = append(list, i)
		}
	}
	return list
}
