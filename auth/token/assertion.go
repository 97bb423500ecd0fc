package token

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
)

// DefaultLife is how long an assertion is good.
const DefaultLife = 5 * time.Minute

// MaxActors is how many hubs an assertion may have come through.
const MaxActors = 8

// claimActors is the claim of a principal with the hubs that its token has come through,
// the newest first, as a JSON list.
const claimActors = "act"

// Asserter says to others who callers are, by tokens that it signs: assertions. Its fields
// must not change once it is in use.
type Asserter struct {
	// Issuer is the name of who asserts, under which others find its keys: the address of
	// the hub. It is required.
	Issuer string
	// Key returns the key in force. It is required.
	Key func() (*Key, error)
	// Life is how long an assertion is good; zero means DefaultLife.
	Life time.Duration
	// Claims are what Assert says of a caller beside who he is: org, roles, name, email,
	// client_id, azp, scope.
	Claims []string
}

var _ auth.Onward = (*Asserter)(nil)

// Assert implements auth.Onward.
func (a *Asserter) Assert(ctx context.Context, audience string) (string, error) {
	p := auth.PrincipalFrom(ctx)
	if p.Anonymous() {
		return "", auth.ErrNobody
	}
	return a.Of(p, audience, a.Claims)
}

// CheckClaims returns an error that names a claim which Asserter.Of does not know.
func CheckClaims(names []string) error {
	var b body
	for _, n := range names {
		if err := b.add(&auth.Principal{}, n); err != nil {
			return err
		}
	}
	return nil
}

// body is what an assertion says (RFC 7519 §4.1, RFC 8693 §4.1, §4.2).
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

// actor is who acts for the subject, and for whom that acted before (RFC 8693 §4.1).
type actor struct {
	Subject string `json:"sub"`
	Before  *actor `json:"act,omitempty"`
}

// Of returns an assertion about p for an audience, with the claims that are named. What
// p lacks of them is left out.
func (a *Asserter) Of(p *auth.Principal, audience string, claims []string) (string, error) {
	switch {
	case audience == "":
		return "", errors.New("assertion: it needs an audience")
	case !goodSubject(p.ID):
		return "", errors.New("assertion: the id of the caller is too long, or not plain text")
	}
	key, err := a.Key()
	if err != nil {
		return "", fmt.Errorf("assertion: %w", err)
	}
	life, now := a.Life, time.Now()
	if life == 0 {
		life = DefaultLife
	}
	b := body{
		Issuer: a.Issuer, Subject: p.ID, Audience: audience, ID: rand.Text(),
		Issued: now.Unix(), Expires: now.Add(life).Unix(), Act: &actor{Subject: a.Issuer},
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

// add adds a claim that is named.
func (b *body) add(p *auth.Principal, name string) error {
	switch name {
	case "org":
		if p.Org != auth.Local { // the name of one's own owner means nothing elsewhere
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
		return fmt.Errorf("%q is none of the claims org, roles, name, email, client_id, azp and scope", name)
	}
	return nil
}

// before returns the hubs through which a caller's token has come.
func before(p *auth.Principal) (*actor, error) {
	text := p.Claims[claimActors]
	if text == "" {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("the actors of the caller: %w", err)
	}
	if len(names) >= MaxActors {
		return nil, fmt.Errorf("the caller's work has come through %d hubs already", len(names))
	}
	var last *actor
	for i := len(names) - 1; i >= 0; i-- {
		last = &actor{names[i], last}
	}
	return last, nil
}

// actors returns the hubs that a token names as those through which it has come, as a
// JSON list; empty if it names none. What is not of the form is left out: it says nothing
// about who the caller is.
func actors(claim any) string {
	var names []string
	for len(names) < MaxActors {
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

// goodSubject reports whether a name can be the subject of a token.
func goodSubject(name string) bool {
	return name != "" && len(name) <= maxSubject && !strings.ContainsFunc(name, unprintable)
}
