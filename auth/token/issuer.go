package token

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// DefaultSkew is how far the clocks of issuer and hub may differ.
const DefaultSkew = time.Minute

// Issuer is who issues tokens, and what they mean here. Its fields must not change once
// a Verifier has it.
type Issuer struct {
	// Name is what principals of the issuer are called by: "name:subject". It is required,
	// and differs between issuers.
	Name string
	// URL is the issuer as its tokens name it (iss), an https address, or an http one on
	// the loopback interface. It is required.
	URL string
	// Audiences are the names under which the hub is known there: a token has to be for
	// one of them (aud). At least one is required.
	Audiences []string
	// Algorithms are those that tokens may be signed with; nil means RS256, PS256, ES256
	// and EdDSA.
	Algorithms []string
	// KeysURL is the address of the key set; if empty, the issuer's discovery document
	// names it.
	KeysURL string
	// Keys is a key set as JSON, which is used instead of one that is fetched.
	Keys []byte
	// Skew is how far the clocks may differ; zero means DefaultSkew.
	Skew time.Duration

	// Org is the organisation of all callers of the issuer; empty if each is by himself.
	Org string
	// OrgClaim is the claim with a caller's organisation, and Orgs which of its values
	// become which organisation here. A caller with none of them is by himself, one with
	// several, in a list, belongs to all of them, see auth.Principal.Orgs.
	OrgClaim string
	Orgs     map[string]string
	// RolesClaim is a claim with a list of roles or a text of them, and Roles which of
	// them become which roles here. Others do not count.
	RolesClaim string
	Roles      map[string]string
	// Scopes says which scopes (scope or scp) become which roles here.
	Scopes map[string]string
	// RequiredScopes are what each token needs.
	RequiredScopes []string
}

// asymmetric are the algorithms that may be allowed at all (RFC 7518 §3.1, RFC 8037).
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var usual = []string{"RS256", "PS256", "ES256", "EdDSA"}

// Check says what is wrong with an issuer, naming the field.
func (i *Issuer) Check() error {
	switch {
	case i.Name == "":
		return errors.New("name: is required")
	case strings.Contains(i.Name, ":"):
		return errors.New("name: must have no colon, behind which the subject begins")
	case len(i.Audiences) == 0 || slices.Contains(i.Audiences, ""):
		return errors.New("audiences: at least one is required, by which tokens for others are told apart")
	case i.OrgClaim != "" && len(i.Orgs) == 0:
		return errors.New("orgs: is required with an org_claim, and says which of its values count")
	case i.RolesClaim != "" && len(i.Roles) == 0:
		return errors.New("roles: is required with a roles_claim, and says which of its values count")
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

// checkAddress says what is wrong with an address that keys or tokens come from.
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

func (i *Issuer) skew() time.Duration {
	if i.Skew == 0 {
		return DefaultSkew
	}
	return i.Skew
}
