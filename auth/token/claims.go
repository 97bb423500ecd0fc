package token

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/parley-a2a/parley/auth"
)

// maxSubject limits the subject of a token, in bytes.
const maxSubject = 256

// claims holds the claims of a token.
type claims struct {
	jwt.Claims
	more map[string]any
	// granted are scopes that the issuer granted with the token, but not in it.
	granted []string
}

// checkClaims returns the first error in the claims of a verified token (RFC 7519 §4.1).
func (i *Issuer) checkClaims(c *claims, now time.Time) error {
	skew := i.skew()
	switch {
	case c.Issuer != i.URL:
		return errors.New("wrong issuer")
	case c.Expiry == nil:
		return errors.New("no expiry (exp)")
	case now.After(c.Expiry.Time().Add(skew)):
		return errors.New("it has expired")
	case c.NotBefore != nil && now.Add(skew).Before(c.NotBefore.Time()):
		return errors.New("not valid yet (nbf)")
	case c.IssuedAt != nil && now.Add(skew).Before(c.IssuedAt.Time()):
		return errors.New("issued in the future (iat)")
	case !goodSubject(c.Subject):
		return errors.New("its subject (sub) is missing, too long, or not plain text")
	}
	have := c.scopes()
	for _, s := range i.RequiredScopes {
		if !slices.Contains(have, s) {
			return &auth.ScopeError{Scope: strings.Join(i.RequiredScopes, " ")}
		}
	}
	return nil
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }

// scopes returns the scopes of a token, from scope (RFC 8693 §4.2) and scp, and those granted
// with it.
func (c *claims) scopes() []string {
	return slices.Concat(words(c.more["scope"]), words(c.more["scp"]), c.granted)
}

// words returns the strings of a claim that is a list, or a string with spaces.
func words(claim any) []string {
	switch v := claim.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// principal derives a principal from the claims of a valid token.
func (i *Issuer) principal(c *claims) *auth.Principal {
	name, _ := c.more["name"].(string)
	p := &auth.Principal{
		ID: i.Name + ":" + c.Subject, DisplayName: name, Org: i.Org, Orgs: i.orgs(c), Roles: i.roles(c),
		Claims: map[string]string{"iss": c.Issuer, "sub": c.Subject}, Until: c.Expiry.Time().Add(i.skew()),
	}
	if len(p.Orgs) > 0 {
		p.Org = p.Orgs[0]
	}
	if len(p.Orgs) == 1 {
		p.Orgs = nil // a single organisation leaves no choice
	}
	for _, claim := range []string{"name", "email", "client_id", "azp"} {
		if s, ok := c.more[claim].(string); ok && s != "" {
			p.Claims[claim] = s
		}
	}
	if s := c.scopes(); len(s) > 0 {
		p.Claims["scope"] = strings.Join(s, " ")
	}
	if a := actors(c.more["act"]); a != "" {
		p.Claims[claimActors] = a
	}
	return p
}

// orgs returns the organisations for the values of the claim, without duplicates, in the order
// of the claim. A string is one value; a list has several.
func (i *Issuer) orgs(c *claims) []string {
	if i.OrgClaim == "" {
		return nil
	}
	values, ok := c.more[i.OrgClaim].([]any)
	if !ok {
		values = []any{c.more[i.OrgClaim]}
	}
	var orgs []string
	for _, v := range values {
		s, _ := v.(string)
		if org := i.Orgs[s]; org != "" && !slices.Contains(orgs, org) {
			orgs = append(orgs, org)
		}
	}
	return orgs
}

// roles returns the roles for the claims and scopes, without duplicates.
func (i *Issuer) roles(c *claims) []string {
	var roles []string
	if i.RolesClaim != "" {
		for _, r := range words(c.more[i.RolesClaim]) {
			roles = append(roles, i.Roles[r])
		}
	}
	for _, s := range c.scopes() {
		roles = append(roles, i.Scopes[s])
	}
	roles = slices.DeleteFunc(roles, func(r string) bool { return r == "" })
	slices.Sort(roles)
	return slices.Compact(roles)
}
