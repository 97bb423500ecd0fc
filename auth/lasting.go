package auth

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
)

// errEnded is the cause of the end of a request whose credentials have ended.
var errEnded = apierror.New(ErrUnauthenticated, "Authentication required: the credentials of this request have expired or were revoked")

// Lasting is an Authenticator that is asked again about callers whose requests last.
type Lasting interface {
	// While returns a context that ends at the latest when r would no longer be authenticated as
	// p. The cause then wraps ErrUnauthenticated. The CancelFunc must be called at the end of the
	// request.
	While(ctx context.Context, r *Request, p *Principal) (context.Context, context.CancelFunc)
}

// Ends reports whether the credentials of p may end while a request lasts.
func Ends(a Authenticator, p *Principal) bool {
	_, lasts := a.(Lasting)
	return p != nil && (lasts || !p.Until.IsZero())
}

// While is that of a Lasting. With another Authenticator the context ends at p.Until.
func While(ctx context.Context, a Authenticator, r *Request, p *Principal) (context.Context, context.CancelFunc) {
	switch l, lasts := a.(Lasting); {
	case !Ends(a, p):
		return ctx, func() {}
	case lasts:
		return l.While(ctx, r, p)
	}
	return context.WithDeadlineCause(ctx, p.Until, errEnded)
}

// lasting are the requests that end with the credentials of their callers.
type lasting struct {
	mu  sync.Mutex // guards all
	all map[*lastingRequest]struct{}
}

// lastingRequest is a request that lasts.
type lastingRequest struct {
	// valid returns the time until which the credentials are valid, or zero, and an error if they
	// are not valid any more.
	valid func() (until time.Time, err error)
	end   context.CancelCauseFunc

	mu    sync.Mutex // guards timer
	timer *time.Timer
}

// check ends the request if its credentials are not valid any more.
func (l *lastingRequest) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, err := l.valid()
	if l.timer != nil {
		l.timer.Stop()
	}
	switch {
	case err != nil:
		l.end(errEnded)
	case !until.IsZero():
		l.timer = time.AfterFunc(time.Until(until), l.check)
	}
}

// While implements Lasting. A change of the keys, or Recheck, ends the context at once.
func (r *Keyring) While(ctx context.Context, req *Request, p *Principal) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	l := &lastingRequest{valid: r.validity(req, p), end: end}
	r.lasting.mu.Lock()
	if r.lasting.all == nil {
		r.lasting.all = make(map[*lastingRequest]struct{})
	}
	r.lasting.all[l] = struct{}{}
	r.lasting.mu.Unlock()
	l.check() // the credentials may have ended since the caller was authenticated
	return ctx, func() {
		r.lasting.mu.Lock()
		delete(r.lasting.all, l)
		r.lasting.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.valid = func() (time.Time, error) { return time.Time{}, nil }
		if l.timer != nil {
			l.timer.Stop()
		}
		l.end(nil)
	}
}

// certificatePrefix begins the Credential of a certificate. The ids of keys have no colon.
const certificatePrefix = "certificate:"

// credentialOf returns the Credential of verified chains: the certificates of each in base64.
func credentialOf(chains [][]*x509.Certificate) string {
	all := make([]string, len(chains))
	for i, chain := range chains {
		var der []byte
		for _, c := range chain {
			der = append(der, c.Raw...)
		}
		all[i] = base64.StdEncoding.EncodeToString(der)
	}
	return certificatePrefix + strings.Join(all, ",")
}

// validCertificate reports whether the certificates of a Credential still authenticate a caller, and
// whether that is known.
func (r *Keyring) validCertificate(text string) (valid, known bool) {
	var chains [][]*x509.Certificate
	for one := range strings.SplitSeq(text, ",") {
		der, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			return false, true
		}
		chain, err := x509.ParseCertificates(der)
		if err != nil {
			return false, true
		}
		chains = append(chains, chain)
	}
	if r.Certificates == nil {
		return false, false
	}
	p, err := r.Certificates.Certificate(chains)
	switch {
	case errors.Is(err, ErrUncertain):
		return false, false
	case err != nil:
		return false, true
	}
	return time.Now().Before(until(chains, p)), true
}

// Valid reports whether the key or the certificate that a Credential names is valid. known is false if
// that is unknown now: the keys have not been read, or the revocation list has expired.
func (r *Keyring) Valid(credential string) (valid, known bool) {
	if text, found := strings.CutPrefix(credential, certificatePrefix); found {
		return r.validCertificate(text)
	}
	ks, err := r.keys()
	if err != nil {
		return false, false
	}
	i := index(ks.all, credential)
	return i >= 0 && ks.all[i].Good(time.Now()), true
}

// Configure replaces the configured keys. A Keyring that was on stays on.
func (r *Keyring) Configure(ctx context.Context, configured []Key) error {
	r.changing.Lock()
	r.Configured = configured
	r.changing.Unlock()
	return r.Load(ctx)
}

// Recheck ends the contexts of While whose credentials are not valid any more. It is called when
// something has changed that Certificates depend on.
func (r *Keyring) Recheck() {
	r.lasting.mu.Lock()
	all := make([]*lastingRequest, 0, len(r.lasting.all))
	for l := range r.lasting.all {
		all = append(all, l)
	}
	r.lasting.mu.Unlock()
	for _, l := range all {
		l.check()
	}
}

// validity returns the function that reports whether the credentials with which req was
// authenticated as p are still valid.
func (r *Keyring) validity(req *Request, p *Principal) func() (time.Time, error) {
	switch p.Via {
	case viaCertificate:
		chains := req.Chains
		return func() (time.Time, error) {
			now, err := r.Certificates.Certificate(chains)
			if err != nil {
				return time.Time{}, err
			}
			return until(chains, now), nil
		}
	case viaNothing:
		return func() (time.Time, error) {
			ks, err := r.keys()
			if err == nil && r.required(ks) && !r.AllowAnonymous {
				err = errRequired
			}
			return time.Time{}, err
		}
	}
	if text, flaw := credential(req); flaw == "" && !looksLikeToken(text) {
		hash := HashKey(text)
		return func() (time.Time, error) {
			ks, err := r.keys()
			if err != nil {
				return time.Time{}, err
			}
			k := ks.byHash[hash]
			if k == nil || !k.Good(time.Now()) {
				return time.Time{}, errEnded
			}
			return k.ExpiresAt, nil
		}
	}
	return func() (time.Time, error) {
		if !p.Until.IsZero() && !time.Now().Before(p.Until) {
			return time.Time{}, errEnded
		}
		return p.Until, nil
	}
}

// ScopeError refuses a valid token without the required scopes (RFC 6750 §3.1).
type ScopeError struct {
	// Scope are the required scopes, separated by spaces.
	Scope string
}

// Error implements error.
func (e *ScopeError) Error() string { return fmt.Sprintf("the token needs the scope %q", e.Scope) }

// Unwrap returns a2a.ErrUnauthorized.
func (e *ScopeError) Unwrap() error { return a2a.ErrUnauthorized }
