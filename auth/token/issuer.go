package token

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// defaultSkew is the default tolerance between the clocks of issuer and hub.
const defaultSkew = time.Minute

// Issuer is an issuer of tokens and the meaning of its claims in the hub. Its fields must not
// change after it was added to a Verifier.
type Issuer struct {
	// Name is the prefix of the ids of the issuer's principals: "name:subject". It is required
	// and must be unique.
	Name string
	// URL is the issuer's identifier in its tokens (iss): an https address, or an http address
	// on the loopback interface. It is required.
	URL string
	// Audiences are the names of the hub at the issuer: a token must be for one of them (aud).
	// At least one is required.
	Audiences []string
	// Algorithms are the permitted signature algorithms; nil means RS256, PS256, ES256 and
	// EdDSA.
	Algorithms []string
	// KeysURL is the address of the key set; if empty, it is read from the issuer's discovery
	// document.
	KeysURL string
	// Keys is a key set as JSON, used instead of a fetched one.
	Keys []byte
	// Skew is the tolerance between the clocks; zero means 1 min.
	Skew time.Duration

	// Org is the organisation of all callers of the issuer; if empty, each caller has its own
	// tasks.
	Org string
	// OrgClaim is the claim with a caller's organisations, and Orgs maps its values to
	// organisations of the hub. A caller without a mapped value has its own tasks. A caller
	// with several values in a list belongs to all of their organisations, see
	// auth.Principal.Orgs.
	OrgClaim string
	Orgs     map[string]string
	// RolesClaim is a claim with roles, as a list or as a string with spaces. Roles maps its
	// values to roles of the hub. Other values are ignored.
	RolesClaim string
	Roles      map[string]string
	// Scopes maps scopes (scope or scp) to roles of the hub.
	Scopes map[string]string
	// RequiredScopes are the scopes required in every token.
	RequiredScopes []string
}

// asymmetric lists the algorithms that an Issuer may permit (RFC 7518 §3.1, RFC 8037).
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var usual = []string{"RS256", "PS256", "ES256", "EdDSA"}

// Check returns the first error in an issuer, with the name of the field.
func (i *Issuer) Check() error {
	switch {
	case i.Name == "":
		return errors.New("name: is required")
	case strings.Contains(i.Name, ":"):
		return errors.New("name: must not contain a colon, which begins the subject")
	case len(i.Audiences) == 0 || slices.Contains(i.Audiences, ""):
		return errors.New("audiences: at least one is required, to reject tokens for others")
	case i.OrgClaim != "" && len(i.Orgs) == 0:
		return errors.New("orgs: is required with org_claim: the accepted values of the claim")
	case i.RolesClaim != "" && len(i.Roles) == 0:
		return errors.New("roles: is required with roles_claim: the accepted values of the claim")
	case i.Org != "" && i.OrgClaim != "":
		return errors.New("org: cannot be given together with org_claim")
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(asymmetric, a) {
			return fmt.Errorf("algorithms: %q is not one of %v", a, asymmetric)
		}
	}
	if err := checkAddress(i.URL); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if i.KeysURL != "" {
		if err := checkAddress(i.KeysURL); err != nil {
			return fmt.Errorf("keys_url: %w", err)
		}
	}
	if i.Keys != nil {
		if _, err := parseKeySet(i.Keys); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	return nil
}

// checkAddress returns an error if an address is not acceptable as a source of keys or tokens.
func checkAddress(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%q is not an https address", text)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && httpcall.Loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q must begin with https://", text)
}

func (i *Issuer) algorithms() []jose.SignatureAlgorithm {
	names := i.Algorithms
	if len(names) == 0 {
		names = usual
	}
	out := make([]jose.SignatureAlgorithm, len(names))
	for n, a := range names {
		out[n] = jose.SignatureAlgorithm(a)
	}
	return out
}

func (i *Issuer) skew() time.Duration { return cmp.Or(i.Skew, defaultSkew) }
