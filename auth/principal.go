package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/peeraddr"
	"github.com/parley-a2a/parley/task"
)

// Local is the id of the anonymous caller on the loopback interface.
const Local = "local"

// Principal is an authenticated caller.
type Principal struct {
	// ID identifies the caller. It is required.
	ID string `json:"id"`
	// DisplayName is for display. If empty, ID is shown.
	DisplayName string `json:"displayName,omitempty"`
	// Org, if set, owns the caller's tasks instead of the caller. The organisation "local" is
	// that of the anonymous caller: its members share the anonymous caller's tasks. An
	// Authenticator must verify an Org that comes from another party.
	Org string `json:"org,omitempty"`
	// Orgs, if set, lists all organisations of the caller. Org is one of them: the owner of the
	// tasks of the request, see For.
	Orgs []string `json:"orgs,omitempty"`
	// Roles are names for use in policies.
	Roles []string `json:"roles,omitempty"`
	// Claims are further facts that the Authenticator has verified.
	Claims map[string]string `json:"claims,omitempty"`
	// Via is the method of authentication, such as "key:" with the id of a key, "token",
	// "sign-in" or "certificate". It is not stored; empty if unknown.
	Via string `json:"-"`
	// Until is the time at which the credentials of the caller end, and with them the requests that
	// last. It is not stored; zero if they do not end, or if the time is unknown.
	Until time.Time `json:"-"`
	// Certificate holds the certificates of a caller that was authenticated by one, as text. It is
	// not stored; empty for others.
	Certificate string `json:"-"`
}

// Owner returns the owner of the tasks that p creates; empty if p is nil.
func (p *Principal) Owner() task.Owner {
	if p == nil {
		return ""
	}
	switch p.Org {
	case "":
	case Local:
		return task.Owner(Local)
	default:
		return task.Owner("org:" + p.Org)
	}
	if strings.HasPrefix(p.ID, "org:") || strings.HasPrefix(p.ID, "id:") {
		// No id may equal the owner of an organisation.
		return task.Owner("id:" + p.ID)
	}
	return task.Owner(p.ID)
}

// Anonymous reports whether p was not authenticated.
func (p *Principal) Anonymous() bool { return p == nil || p.ID == Local }

// HeaderOwner is the header, or gRPC metadata key, with which a caller that belongs to several
// organisations selects one for a request. The default is the first one.
const HeaderOwner = "X-Parley-Owner"

// For returns p with the organisation that the request selects with HeaderOwner; p itself if
// the request selects none, or the current one. A request is refused if p does not belong to
// the organisation, or if it selects several.
func (p *Principal) For(r *Request) (*Principal, error) {
	named := r.Header(HeaderOwner)
	if len(named) == 0 {
		return p, nil
	}
	org := trim(named[0])
	if len(named) > 1 {
		return nil, apierror.New(a2a.ErrInvalidRequest, "%s appears %d times", HeaderOwner, len(named))
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

// Request is the part of a call, over HTTP or gRPC, that an Authenticator sees.
type Request struct {
	// Header returns the values of a header (or gRPC metadata key). The name is compared
	// without case.
	Header func(name string) []string
	// RemoteAddr is the address of the peer, "host:port".
	RemoteAddr string
	// Chains are the verified chains of the caller's certificate, from the TLS handshake
	// (tls.ConnectionState.VerifiedChains), each beginning with that certificate. Chains is
	// empty if there is no certificate, or if it was not verified.
	Chains [][]*x509.Certificate
}

// ErrUnauthenticated is wrapped by an Authenticator's errors for missing or wrong credentials.
var ErrUnauthenticated = errors.New("unauthenticated")

// ErrUncertain is wrapped beside ErrUnauthenticated for certificates that cannot be checked now, because
// the revocation list of their authority has expired.
var ErrUncertain = errors.New("cannot be checked now")

// Known returns an internal error for a principal that is nil or has no id. An Authenticator
// that returns such a principal is faulty, and its caller is not authenticated.
func Known(p *Principal) error {
	if p == nil || p.ID == "" {
		return errUnknown
	}
	return nil
}

var errUnknown = errors.New("the authenticator returned no principal")

// Authenticator returns the principal of a call. The error wraps ErrUnauthenticated if the
// credentials are missing or wrong; any other error is an internal error. So is a nil error
// with a principal that is nil or has no id. It must be safe for concurrent use.
type Authenticator interface {
	Authenticate(ctx context.Context, r *Request) (*Principal, error)
}

// Func is an Authenticator implemented by a function.
type Func func(ctx context.Context, r *Request) (*Principal, error)

// Authenticate calls f.
func (f Func) Authenticate(ctx context.Context, r *Request) (*Principal, error) { return f(ctx, r) }

// anonymous is the anonymous local principal.
var anonymous = &Principal{ID: Local, DisplayName: Local, Via: viaNothing}

// Anyone returns an Authenticator that accepts every caller as the anonymous local principal.
func Anyone() Authenticator {
	return Func(func(context.Context, *Request) (*Principal, error) { return anonymous, nil })
}

// ThisMachine returns an Authenticator that accepts callers on this machine as the anonymous
// local principal. It refuses all others, and requests that a proxy has forwarded. It is the default
// of a hub.
func ThisMachine() Authenticator { return thisMachine{} }

type thisMachine struct{}

// Authenticate implements Authenticator.
func (thisMachine) Authenticate(_ context.Context, r *Request) (*Principal, error) {
	if err := CheckDirect(r.Header); err != nil {
		return nil, err
	}
	if !LocalPeer(r.RemoteAddr) {
		return nil, errRequired
	}
	return anonymous, nil
}

// LocalOnly reports that callers need no credentials, see [LocalOnly].
func (thisMachine) LocalOnly() bool { return true }

// LocalPeer reports whether a peer, "host:port", is on this machine. A peer without an IP
// address is connected by a local socket. Behind a proxy the peer is the proxy.
func LocalPeer(addr string) bool {
	ip, ok := peeraddr.IP(addr)
	return !ok || ip.IsLoopback()
}

// Values of Principal.Via.
const (
	viaNothing     = "none"
	viaKey         = "key:"
	viaToken       = "token"
	viaCertificate = "certificate"
)

// Credential names the API key or the certificate that p was authenticated with, for
// [Keyring.Valid]; empty for other callers.
func (p *Principal) Credential() string {
	switch {
	case p == nil:
		return ""
	case p.Via == viaCertificate:
		return p.Certificate
	}
	id, _ := strings.CutPrefix(p.Via, viaKey)
	if id == p.Via {
		return ""
	}
	return id
}

// via returns p with Via set, unless it is set already.
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
