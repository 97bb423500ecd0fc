package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

// Local is the id of the anonymous caller on the loopback interface.
const Local = "local"

// Principal is an authenticated caller.
type Principal struct {
	// ID identifies the caller. It is required.
	ID string `json:"id"`
	// DisplayName is for people. If empty, ID is shown.
	DisplayName string `json:"displayName,omitempty"`
	// Org, if set, owns the caller's tasks instead of the caller. The organisation
	// "local" is that of the anonymous caller: whoever belongs to it has his tasks.
	// An Authenticator must not take an Org from somebody else without checking it.
	Org string `json:"org,omitempty"`
	// Orgs, if set, are all organisations that the caller belongs to. Org is one of them:
	// the one that owns the tasks of the request, see For.
	Orgs []string `json:"orgs,omitempty"`
	// Roles are names that policies refer to.
	Roles []string `json:"roles,omitempty"`
	// Claims are further facts that the authenticator vouches for.
	Claims map[string]string `json:"claims,omitempty"`
	// Via says how the caller was authenticated, such as "key:" with the id of a key,
	// "token" or "certificate". It is not kept; empty if it is not known.
	Via string `json:"-"`
}

// Owner returns the scope of the tasks that p makes.
func (p *Principal) Owner() task.Owner {
	switch p.Org {
	case "":
	case Local:
		return task.Owner(Local)
	default:
		return task.Owner("org:" + p.Org)
	}
	if strings.HasPrefix(p.ID, "org:") || strings.HasPrefix(p.ID, "id:") {
		// No id may look like the owner of an organisation.
		return task.Owner("id:" + p.ID)
	}
	return task.Owner(p.ID)
}

// Anonymous reports whether nobody vouches for p.
func (p *Principal) Anonymous() bool { return p == nil || p.ID == Local }

// HeaderOwner is the header, or gRPC metadata key, by which a caller who belongs to several
// organisations says for which of them a request is. Without it, the first one is meant.
const HeaderOwner = "X-Parley-Owner"

// For returns p for the organisation that the request names with HeaderOwner: p itself if it
// names none, or the one that p has. An organisation that p does not belong to is refused, as
// is a request that names several.
func (p *Principal) For(r *Request) (*Principal, error) {
	named := r.Header(HeaderOwner)
	if len(named) == 0 {
		return p, nil
	}
	org := trim(named[0])
	if len(named) > 1 {
		return nil, apierror.New(a2a.ErrInvalidRequest, "%s is given %d times", HeaderOwner, len(named))
	}
	switch {
	case org != "" && org == p.Org:
		return p, nil
	case org == "" || !slices.Contains(p.Orgs, org):
		return nil, apierror.New(a2a.ErrUnauthorized, "%s names an owner that the caller does not belong to", HeaderOwner)
	}
	chosen := *p
	chosen.Org = org
	return &chosen, nil
}

// Request is what an Authenticator sees of a call, over HTTP or gRPC.
type Request struct {
	// Header returns the values of a header (or gRPC metadata key); the name's case
	// does not matter.
	Header func(name string) []string
	// RemoteAddr is the address of the peer, "host:port".
	RemoteAddr string
	// Chains are those by which the handshake of the connection has verified the caller's
	// certificate (tls.ConnectionState.VerifiedChains), each with that one first. Without
	// one, or one that nobody has verified, there are none.
	Chains [][]*x509.Certificate
}

// ErrUnauthenticated is what an Authenticator returns for missing or wrong
// credentials.
var ErrUnauthenticated = errors.New("unauthenticated")

// Known returns an error for a principal that is nil, or has no id: an Authenticator that
// returns one is at fault, and its caller is nobody. The error is an internal one.
func Known(p *Principal) error {
	if p == nil || p.ID == "" {
		return errUnknown
	}
	return nil
}

var errUnknown = errors.New("authenticator returned no principal")

// Authenticator finds the principal of a call. It returns an error wrapping
// ErrUnauthenticated if the credentials are missing or wrong; any other error is
// an internal one, and so is no principal, or one without an id, without an error.
type Authenticator interface {
	Authenticate(ctx context.Context, r *Request) (*Principal, error)
}

// Func makes an Authenticator of a function.
type Func func(ctx context.Context, r *Request) (*Principal, error)

// Authenticate calls f.
func (f Func) Authenticate(ctx context.Context, r *Request) (*Principal, error) { return f(ctx, r) }

// nobody is the anonymous local principal.
var nobody = &Principal{ID: Local, DisplayName: Local, Via: viaNothing}

// Anyone authenticates every caller as the anonymous local principal.
func Anyone() Authenticator {
	return Func(func(context.Context, *Request) (*Principal, error) { return nobody, nil })
}

// Anonymous returns what authenticates callers where nobody has configured it:
// Anyone if everywhere is set, else ThisMachine.
func Anonymous(everywhere bool) Authenticator {
	if everywhere {
		return Anyone()
	}
	return ThisMachine()
}

// ThisMachine authenticates callers on this machine as the anonymous local
// principal, and nobody else.
func ThisMachine() Authenticator {
	return Func(func(_ context.Context, r *Request) (*Principal, error) {
		if !LocalPeer(r.RemoteAddr) {
			return nil, errRequired
		}
		return nobody, nil
	})
}

// LocalPeer reports whether a peer, "host:port", is on this machine. A peer without
// an IP address came over a socket of this machine. Behind a proxy the peer is the
// proxy.
func LocalPeer(addr string) bool {
	ip, ok := peerIP(addr)
	return !ok || ip.IsLoopback()
}

// How callers are authenticated here.
const (
	viaNothing     = "none"
	viaKey         = "key:"
	viaToken       = "token"
	viaCertificate = "certificate"
)

// via returns p with how it was authenticated, unless that is known.
func (p *Principal) via(how string) *Principal {
	if p.Via != "" {
		return p
	}
	with := *p
	with.Via = how
	return &with
}

type contextKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// PrincipalFrom returns the principal of ctx, or nil.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(contextKey{}).(*Principal)
	return p
}
