package token

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
)

// defaultLife is the default lifetime of an assertion.
const defaultLife = 5 * time.Minute

// maxActors is the maximum number of hubs through which an assertion may have passed.
const maxActors = 8

// claimActors is the claim of a principal with the hubs through which its token has passed,
// newest first, as a JSON list.
const claimActors = "act"

// Asserter issues signed tokens, called assertions, that identify callers to other parties. Its
// fields must not change after the first call. It is safe for concurrent use.
type Asserter struct {
	// Issuer is the issuer of the assertions, at which verifiers find its keys: the address of
	// the hub. It is required.
	Issuer string
	// Key returns the current signing key. It is required.
	Key func() (*Key, error)
	// Life is the lifetime of an assertion; zero means 5 min.
	Life time.Duration
	// Claims are the further claims in assertions of Assert: org, roles, name, email,
	// client_id, azp, scope.
	Claims []string
}

var _ auth.Asserter = (*Asserter)(nil)

// Assert implements auth.Asserter.
func (a *Asserter) Assert(ctx context.Context, audience string) (string, error) {
	p := auth.PrincipalFrom(ctx)
	if p.Anonymous() {
		return "", auth.ErrNoIdentity
	}
	return a.Of(p, audience, a.Claims)
}

// CheckClaims returns an error for the first claim that Asserter.Of does not support.
func CheckClaims(names []string) error {
	var b body
	for _, n := range names {
		if err := b.add(&auth.Principal{}, n); err != nil {
			return err
		}
	}
	return nil
}

// body holds the claims of an assertion (RFC 7519 §4.1, RFC 8693 §4.1, §4.2).
type body struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience string   `json:"aud"`
	ID       string   `json:"jti"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
	Act      *actor   `json:"act,omitempty"`
	Org      string   `json:"org,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Name     string   `json:"name,omitempty"`
	Email    string   `json:"email,omitempty"`
	ClientID string   `json:"client_id,omitempty"`
	Party    string   `json:"azp,omitempty"`
	Scope    string   `json:"scope,omitempty"`
}

// actor is the party that acts for the subject, and the actors before it (RFC 8693 §4.1).
type actor struct {
	Subject string `json:"sub"`
	Before  *actor `json:"act,omitempty"`
}

// Of returns an assertion about p for an audience, with the given claims. Claims that p lacks
// are omitted.
func (a *Asserter) Of(p *auth.Principal, audience string, claims []string) (string, error) {
	switch {
	case audience == "":
		return "", errors.New("assertion: it needs an audience")
	case !goodSubject(p.ID):
		return "", errors.New("assertion: the caller's id is too long or not plain text")
	}
	key, err := a.Key()
	if err != nil {
		return "", fmt.Errorf("assertion: %w", err)
	}
	now := time.Now()
	b := body{
		Issuer: a.Issuer, Subject: p.ID, Audience: audience, ID: rand.Text(),
		Issued: now.Unix(), Expires: now.Add(cmp.Or(a.Life, defaultLife)).Unix(), Act: &actor{Subject: a.Issuer},
	}
	if b.Act.Before, err = before(p); err != nil {
		return "", fmt.Errorf("assertion: %w", err)
	}
	for _, name := range claims {
		if err := b.add(p, name); err != nil {
			return "", fmt.Errorf("assertion: %w", err)
		}
	}
	return key.sign(&b)
}

func (b *body) add(p *auth.Principal, name string) error {
	switch name {
	case "org":
		if p.Org != auth.Local { // the hub's own owner has no meaning elsewhere
			b.Org = p.Org
		}
	case "roles":
		b.Roles = p.Roles
	case "name":
		b.Name = p.DisplayName
	case "email":
		b.Email = p.Claims["email"]
	case "client_id":
		b.ClientID = p.Claims["client_id"]
	case "azp":
		b.Party = p.Claims["azp"]
	case "scope":
		b.Scope = p.Claims["scope"]
	default:
		return fmt.Errorf("unknown claim %q: must be one of org, roles, name, email, client_id, azp and scope", name)
	}
	return nil
}

// before returns the hubs through which a caller's token has passed.
func before(p *auth.Principal) (*actor, error) {
	text := p.Claims[claimActors]
	if text == "" {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("the actors of the caller: %w", err)
	}
	if len(names) >= maxActors {
		return nil, fmt.Errorf("the caller's work has come through %d hubs already", len(names))
	}
	var last *actor
	for i := len(names) - 1; i >= 0; i-- {
		last = &actor{names[i], last}
	}
	return last, nil
}

// actors returns the hubs in the claim "act" of a token, as a JSON list; empty if there are
// none. Malformed entries are omitted, because they do not affect the identity of the caller.
func actors(claim any) string {
	var names []string
	for len(names) < maxActors {
		m, _ := claim.(map[string]any)
		name, _ := m["sub"].(string)
		if !goodSubject(name) {
			break
		}
		names = append(names, name)
		claim = m["act"]
	}
	if len(names) == 0 {
		return ""
	}
	text, err := json.Marshal(names)
	if err != nil {
		return ""
	}
	return string(text)
}

// goodSubject reports whether a name is valid as the subject of a token.
func goodSubject(name string) bool {
	return name != "" && len(name) <= maxSubject && !strings.ContainsFunc(name, unprintable)
}
