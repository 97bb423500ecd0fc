package safedial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// ErrForbidden is wrapped by errors about addresses that the policy does not allow.
var ErrForbidden = errors.New("address is not allowed")

// ErrInvalid is wrapped by errors about URLs that no policy allows.
var ErrInvalid = errors.New("invalid URL")

// Refusal is an address that the policy does not allow. It wraps ErrForbidden.
type Refusal struct {
	// Host is the name or address that the caller wrote.
	Host string
	// Addr is the address to be dialed. It is not valid if Host is a name that was not
	// resolved.
	Addr netip.Addr
	// Kind describes the address or the name, such as "a private address".
	Kind string
}

// Error describes the refusal for the party that chose the host, without revealing addresses.
func (r *Refusal) Error() string {
	if r.kindIsPublic() {
		return fmt.Sprintf("%s is %s, which this hub may not call; its operator can allow it", r.Host, r.Kind)
	}
	return fmt.Sprintf("this hub may not call %s; its operator can allow it", r.Host)
}

// kindIsPublic reports whether Kind follows from Host alone.
func (r *Refusal) kindIsPublic() bool {
	if !r.Addr.IsValid() {
		return true
	}
	a, err := netip.ParseAddr(r.Host)
	return err == nil && plain(a) == plain(r.Addr)
}

// Unwrap returns ErrForbidden.
func (r *Refusal) Unwrap() error { return ErrForbidden }

// invalid returns an error about a URL that no policy allows.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// Explain returns the reason of a failed request for the party that chose its address: without
// resolved addresses, and without those of name servers. It returns the empty string for nil.
func Explain(err error) string {
	var (
		refusal *Refusal
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		timeout interface{ Timeout() bool }
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Error()
	case errors.Is(err, ErrInvalid):
		return "the address is not a valid URL"
	case errors.Is(err, context.Canceled):
		return "the request was canceled"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host name does not exist"
	case errors.As(err, &dns):
		return "the host name could not be resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &cert):
		return "the certificate is not valid for the host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	}
	return "the connection failed"
}
