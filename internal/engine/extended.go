package engine

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/policy"
)

// ExtendedCards controls which callers may see the extended cards of the agents (specification
// §3.1.11). With the zero value there are no extended cards.
type ExtendedCards struct {
	// Token opens them to every caller that presents it as a bearer token. If empty, no token
	// opens them.
	Token string
	// Authenticated opens them to every caller that is not anonymous.
	Authenticated bool
}

// On reports whether there are extended cards.
func (x *ExtendedCards) On() bool { return x.Token != "" || x.Authenticated }

// ErrNoExtendedCard is returned for an agent that declares no extended card.
var ErrNoExtendedCard error = apierror.New(a2a.ErrUnsupportedOperation, "the agent declares no extended card")

// The errors for callers that may not see an extended card.
var (
	errTokenOnly = apierror.New(auth.ErrUnauthenticated, "Authentication required: the extended card needs its own bearer token")
	errAnonymous = apierror.New(auth.ErrUnauthenticated, "Authentication required: the extended card is for callers with credentials")
)

// ExtendedCards returns the configured access to extended cards.
func (e *Engine) ExtendedCards() ExtendedCards { return e.cfg.Extended }

// CardCaller is a caller that may request the extended card.
type CardCaller struct {
	// Principal is nil if Err is not.
	Principal *auth.Principal
	// Token is set if the caller has presented the token of the extended cards.
	Token bool
	// Err is the authentication error of a caller that has only that token.
	Err error
}

// AuthenticateCard determines the caller of a possible request for the extended card. It
// removes the token of the extended cards from the request before a sees it, so that a does not
// count it as a wrong credential.
func (e *Engine) AuthenticateCard(ctx context.Context, a auth.Authenticator, r *auth.Request) (CardCaller, error) {
	var v CardCaller
	if e.cfg.Extended.opens(r) {
		v.Token = true
		r = &auth.Request{Header: withoutBearer(r.Header), RemoteAddr: r.RemoteAddr, Chains: r.Chains}
	}
	p, err := a.Authenticate(ctx, r)
	switch {
	case err == nil && auth.Known(p) != nil:
		return CardCaller{}, auth.Known(p)
	case err == nil:
		v.Principal = p
	case v.Token && errors.Is(err, auth.ErrUnauthenticated):
		v.Err = err
	default:
		return CardCaller{}, err
	}
	return v, nil
}

// opens reports whether a request has the token. It compares in constant time.
func (x *ExtendedCards) opens(r *auth.Request) bool {
	if x.Token == "" {
		return false
	}
	values := r.Header("authorization")
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || len(token) > maxToken {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimLeft(token, " "))), sha256.Sum256([]byte(x.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// maxToken limits the length of a token that is hashed.
const maxToken = 4096

func withoutBearer(header func(string) []string) func(string) []string {
	return func(name string) []string {
		if strings.EqualFold(name, "authorization") {
			return nil
		}
		return header(name)
	}
}

// ExtendedCard returns the agent whose extended card a caller requests.
func (e *Engine) ExtendedCard(v *CardCaller, r *op.ExtendedCard) (*Agent, error) {
	name, err := target(&r.Target)
	if err != nil {
		return nil, err
	}
	a, ok := e.Agent(name)
	if a.Name != "" {
		name = a.Name
	}
	if n := (need{op: policy.ExtendedCard}); e.cfg.Policy != nil && !e.allows(v.caller(), n, &policy.Request{Agent: name}) {
		return nil, refused(n, name)
	}
	x := &e.cfg.Extended
	switch {
	case !ok:
		return nil, errNoAgent()
	case !x.On() && r.Always:
		return &a, nil
	case !x.On() && a.Card.Capabilities.ExtendedAgentCard:
		return nil, apierror.New(a2a.ErrExtendedCardNotConfigured, "the agent declares an extended card, but none is configured")
	case !x.On():
		return nil, ErrNoExtendedCard
	case v.Token || x.Authenticated && v.Err == nil && !v.Principal.Anonymous():
		return &a, nil
	case x.Authenticated:
		return nil, errAnonymous
	}
	return nil, errTokenOnly
}

// cardBearer is the name of the security scheme for the token of the extended cards.
const cardBearer = "extendedCardBearer"

// secured is an Authenticator that provides its security schemes for cards. They may change at
// any time. See auth.Keyring.
type secured interface {
	Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions)
}

// CardOptions returns the options that the engine and the authenticator of its callers add to
// an agent's cards. The binding sets interfaces, layout and streaming.
func (e *Engine) CardOptions(agent *Agent, by auth.Authenticator) *card.Options {
	o := &card.Options{
		Name:              string(agent.Name),
		PushNotifications: e.Pushes(),
		ExtendedCard:      e.cfg.Extended.On() || agent.Card.Capabilities.ExtendedAgentCard,
		Sign:              e.cfg.SignCard,
		About:             e.cfg.About,
		Others:            agent.Others,
	}
	if e.ClientIDs() {
		o.Extensions = []a2a.AgentExtension{card.ClientTaskIDsExtension()}
	}
	s, ok := by.(secured)
	if ok {
		o.SecuritySchemes, o.SecurityRequirements = s.Security()
	}
	if e.sharesTree(agent.Name) || ok && len(o.SecurityRequirements) == 0 {
		o.Extensions = append(o.Extensions, card.TaskTreeExtension())
	}
	if e.cfg.Extended.Token != "" {
		schemes := a2a.NamedSecuritySchemes{
			cardBearer: a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "The token of the extended card, and of nothing else."},
		}
		maps.Copy(schemes, o.SecuritySchemes)
		o.SecuritySchemes = schemes
	}
	return o
}

// ClientIDs reports whether callers may choose the ids of new tasks on surfaces that allow it.
func (e *Engine) ClientIDs() bool { return !e.cfg.NoClientIDs }

// counting is an Authenticator that slows down callers that guess credentials. See
// auth.Keyring.
type counting interface {
	Refuse(ctx context.Context, r *auth.Request, reason string) error
}

// RefuseCard notifies the Authenticator of a caller that was refused an extended card although
// it presented a token. It returns the error for the caller, in place of err.
func (e *Engine) RefuseCard(ctx context.Context, by auth.Authenticator, r *auth.Request, err error) error {
	c, ok := by.(counting)
	if !ok || e.cfg.Extended.Token == "" || !errors.Is(err, auth.ErrUnauthenticated) || len(r.Header("authorization")) == 0 {
		return err
	}
	if refusal := c.Refuse(ctx, r, "wrong token for an extended card"); !errors.Is(refusal, auth.ErrUnauthenticated) {
		return refusal
	}
	return err
}
