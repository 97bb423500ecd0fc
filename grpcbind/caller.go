package grpcbind

import (
	"context"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/peeraddr"
	"github.com/parley-a2a/parley/internal/usertoken"
)

// The metadata keys with a defined meaning.
const (
	keyVersion     = "a2a-version"
	keyExtensions  = "a2a-extensions"
	keyExtensions0 = "x-a2a-extensions" // of v0.3
	keyLastEventID = "last-event-id"
	keyChallenge   = "www-authenticate"
)

// identify identifies the caller, reads the service parameters, counts the call against the
// limits, and checks the protocol version.
func (s *base) identify(ctx context.Context) (*op.Caller, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	caller, slot := ctx, new(usertoken.Slot)
	if s.engine.WantsBearers() {
		caller = usertoken.Collect(ctx, slot)
	}
	from := request(ctx, md)
	if err := s.guard(from, md); err != nil {
		return nil, err
	}
	p, err := s.cfg.Auth.Authenticate(caller, from)
	if err != nil {
		return nil, err
	}
	if err := auth.Known(p); err != nil {
		return nil, err
	}
	id := p.ID
	if call, _ := ctx.Value(loggedKey{}).(*loggedCall); call != nil {
		call.caller.Store(&id)
	}
	if s.limiter != nil {
		if err := s.limiter.Request(p.Owner()); err != nil {
			return nil, err
		}
	}
	if err := s.checkVersion(md); err != nil {
		return nil, err
	}
	return &op.Caller{Principal: p, Params: joined(ctx, serviceParams(md)), Extensions: extensions(md), Bearer: slot.Token(), From: from.RemoteAddr}, nil
}

// last returns a context that ends at the latest with the credentials of a caller.
func (s *base) last(ctx context.Context, c *op.Caller) (context.Context, context.CancelFunc) {
	md, _ := metadata.FromIncomingContext(ctx)
	return auth.While(ctx, s.cfg.Auth, request(ctx, md), c.Principal)
}

// guard refuses a call over a network to a hub without keys by a name that is not loopback: a proxy may
// have forwarded it without a mark.
func (s *base) guard(from *auth.Request, md metadata.MD) error {
	if _, network := peeraddr.IP(from.RemoteAddr); !network || !auth.LocalOnly(s.cfg.Auth) {
		return nil
	}
	for _, host := range md[":authority"] {
		if err := (*hosts.Names)(nil).CheckHost(host); err != nil {
			return err
		}
	}
	return nil
}

// request returns the credentials of a call.
func request(ctx context.Context, md metadata.MD) *auth.Request {
	r := &auth.Request{Header: md.Get, RemoteAddr: remoteAddr(ctx)}
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.Chains = info.State.VerifiedChains
		}
	}
	return r
}

func remoteAddr(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	return p.Addr.String()
}

// checkVersion checks the version that a call names.
func (s *base) checkVersion(md metadata.MD) error { return s.version(split(md[keyVersion])) }

// servesV1 applies the rule for a surface whose address names the version: no version means 1.0
// (specification §3.6).
func servesV1(versions []string) error { return dialect.Version(versions, dialect.REST) }

// lastEventID returns the event after which the caller resumes a stream, or the empty string.
func lastEventID(ctx context.Context) string {
	if ids := metadata.ValueFromIncomingContext(ctx, keyLastEventID); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// serviceParams returns the metadata that an agent may see (specification §3.2.6), with the version.
func serviceParams(md metadata.MD) map[string][]string {
	params := op.Params(md)
	if version, ok := md[keyVersion]; ok {
		if params == nil {
			params = make(map[string][]string, 1)
		}
		params[keyVersion] = version
	}
	return params
}

// split returns the elements of comma-joined values, without empty ones.
func split(values []string) []string {
	var all []string
	for _, list := range values {
		for v := range strings.SplitSeq(list, ",") {
			if v = strings.TrimSpace(v); v != "" {
				all = append(all, v)
			}
		}
	}
	return all
}
