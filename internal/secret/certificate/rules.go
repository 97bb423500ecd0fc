package certificate

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
)

// ErrCertificate is wrapped by the reason for refusing a certificate. Callers do not see the
// reason. It wraps auth.ErrUnauthenticated.
var ErrCertificate error = refusal{}

type refusal struct{}

func (refusal) Error() string { return "certificate rejected" }

func (refusal) Unwrap() error { return auth.ErrUnauthenticated }

// Field is a field of a certificate.
type Field string

// Fields for rules.
const (
	// URI, DNS and Email are alternative names of the subject (RFC 5280 §4.2.1.6); SPIFFE ids
	// are URIs.
	URI   Field = "uri"
	DNS   Field = "dns"
	Email Field = "email"
	// CommonName is the common name of the subject.
	CommonName Field = "common_name"
	// Fingerprint is the SHA-256 of the whole certificate, as 64 lower-case hexadecimal digits.
	Fingerprint Field = "fingerprint"
)

// Rule maps a certificate to a principal.
type Rule struct {
	// Field is the field to compare. It is required.
	Field Field
	// Value is the exact value of the field. If empty, the rule accepts every certificate of
	// the Authorities, each for its own principal.
	Value string
	// Name is the prefix of the ids of these principals: "name:VALUE". It is required if Value
	// is empty.
	Name string
	// Authorities must include one that has issued the certificate, directly or through others.
	// If empty, with a Value, every authority that the listener trusts is accepted.
	Authorities []*x509.Certificate
	// Principal is the caller. Without a Value, its ID and DisplayName must be empty.
	Principal auth.Principal
}

// Rules are tried in order; the first match counts. They implement auth.Certificates. The zero
// Rules accept no certificate.
type Rules []Rule

var _ auth.Certificates = Rules(nil)

// Certificate implements auth.Certificates. It returns the principal of a certificate with the
// given verified chains.
func (r Rules) Certificate(chains [][]*x509.Certificate) (*auth.Principal, error) {
	if len(chains) == 0 || len(chains[0]) == 0 {
		return nil, fmt.Errorf("%w: it was not verified", ErrCertificate)
	}
	leaf := chains[0][0]
	if now := time.Now(); now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
		return nil, fmt.Errorf("%w: it is expired or not yet valid", ErrCertificate)
	}
	for i := range r {
		if p := r[i].principal(leaf, chains); p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: no rule names it (%s)", ErrCertificate, describe(leaf))
}

// Security implements auth.Certificates. It returns the security scheme of cards for
// certificates, and a requirement that is sufficient alone (specification §4.5).
func (r Rules) Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	const name = "mutualTLS"
	return a2a.NamedSecuritySchemes{name: a2a.MutualTLSSecurityScheme{Description: "A client certificate that this hub knows."}},
		a2a.SecurityRequirementsOptions{{name: {}}}
}

// principal returns the principal of a certificate according to the rule, or nil.
func (r *Rule) principal(leaf *x509.Certificate, chains [][]*x509.Certificate) *auth.Principal {
	values := valuesOf(leaf, r.Field)
	switch {
	case len(r.Authorities) > 0 && !slices.ContainsFunc(chains, r.issued):
		return nil
	case r.Value != "":
		if slices.Contains(values, r.Value) {
			return &r.Principal
		}
		return nil
	case len(r.Authorities) == 0 || len(values) != 1 || !plain(r.Field, values[0]):
		return nil
	}
	p := r.Principal
	p.ID = r.Name + ":" + values[0]
	p.Claims = map[string]string{string(r.Field): values[0]}
	if p.Check() != nil {
		return nil
	}
	return &p
}

func (r *Rule) issued(chain []*x509.Certificate) bool {
	return slices.ContainsFunc(chain[1:], func(above *x509.Certificate) bool {
		return slices.ContainsFunc(r.Authorities, above.Equal)
	})
}

// plain reports whether a name chosen by another party can become the id of a caller. Names
// with alternative spellings are refused, so that no holder has two ids.
func plain(f Field, value string) bool {
	odd := strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' || c == '*' })
	if f == DNS {
		odd = odd || strings.HasSuffix(value, ".") || strings.ToLower(value) != value
	}
	return value != "" && !odd
}

// fingerprint returns the SHA-256 of a certificate in hexadecimal digits.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// describe identifies a certificate for a log.
func describe(leaf *x509.Certificate) string {
	const most = 80
	for _, f := range []Field{URI, DNS, Email, CommonName} {
		if values := valuesOf(leaf, f); len(values) > 0 {
			return fmt.Sprintf("%s %.*q, SHA-256 %.16s…", f, most, values[0], fingerprint(leaf))
		}
	}
	return fmt.Sprintf("SHA-256 %.16s…", fingerprint(leaf))
}
