package auth

import (
	"context"
	"crypto/x509"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// HeaderKey is the header, or gRPC metadata key, that carries an API key. The same
// key may come as a bearer token instead.
const HeaderKey = "X-Api-Key"

const (
	headerAuthorization = "Authorization"
	schemeBearer        = "Bearer"
	// maxCredential is the longest credential that is looked at. Longer ones are not
	// even hashed.
	maxCredential = 1024
	// maxToken is the same for what looks like a token.
	maxToken = 8 << 10
)

// Tokens takes bearer tokens that somebody else has issued.
type Tokens interface {
	// Token returns the principal that a token stands for. An error that wraps
	// ErrUnauthenticated says why it is refused, which is logged and holds nothing
	// secret; any other error is an internal one.
	Token(ctx context.Context, text string) (*Principal, error)
	// Security returns the schemes of cards by which tokens are asked for, and for each a
	// requirement that it alone satisfies.
	Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions)
}

// Certificates knows who calls with a certificate.
type Certificates interface {
	// Certificate returns the principal of a certificate that a handshake has verified,
	// with the chains by which it was. An error that wraps ErrUnauthenticated says why it
	// stands for nobody, which is logged.
	Certificate(chains [][]*x509.Certificate) (*Principal, error)
	// Security returns the schemes of cards by which certificates are asked for, and for
	// each a requirement that it alone satisfies.
	Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions)
}

// looksLikeToken reports whether text has the three parts of a signed token (RFC 7515
// §3.1). Keys that the hub makes have no dots.
func looksLikeToken(text string) bool {
	return strings.Count(text, ".") == 2 && strings.HasPrefix(text, "eyJ")
}

// Challenges returns the values of WWW-Authenticate for a caller whose credentials
// are missing or wrong (RFC 9110 §11.6.1).
func Challenges() []string {
	return []string{`Bearer realm="parley"`, `ApiKey realm="parley", header="` + HeaderKey + `"`}
}

// Why credentials are not looked up. These words go to the log; callers are told the
// same about all.
const (
	flawMissing = "no credentials"
	flawEmpty   = "empty credentials"
	flawLong    = "credentials are too long"
	flawScheme  = "unknown scheme of authorization"
	flawTwo     = "different credentials in one request"
	flawUnknown = "unknown key"
	flawBus     = "a key for workers at the bus was shown by a caller"
)

// credential returns the one credential of a request, or what is wrong. A request
// without credentials has the flaw flawMissing. A header that is there and empty is
// a mistake of somebody who meant to say who he is, and not the same as no header.
func credential(r *Request) (text, flaw string) {
	given := false
	take := func(one string) string {
		switch {
		case one == "":
			return flawEmpty
		case len(one) > maxToken, len(one) > maxCredential && !looksLikeToken(one):
			return flawLong
		case given && one != text:
			return flawTwo
		}
		text, given = one, true
		return ""
	}
	for _, v := range r.Header(HeaderKey) {
		if flaw := take(trim(v)); flaw != "" {
			return "", flaw
		}
	}
	for _, v := range r.Header(headerAuthorization) {
		scheme, token, _ := strings.Cut(trim(v), " ")
		if !strings.EqualFold(scheme, schemeBearer) {
			return "", flawScheme
		}
		if flaw := take(trim(token)); flaw != "" {
			return "", flaw
		}
	}
	if !given {
		return "", flawMissing
	}
	return text, ""
}

// trim takes away the white space that headers may have around a value.
func trim(s string) string { return strings.Trim(s, " \t") }
