package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

const cardToken = "a-token-of-the-extended-cards"

// request returns a call with these values of Authorization, and a key for "ann".
func request(key string, authorization ...string) *auth.Request {
	return &auth.Request{Header: func(name string) []string {
		switch strings.ToLower(name) {
		case "authorization":
			return authorization
		case "x-api-key":
			return []string{key}
		}
		return nil
	}}
}

// keyed accepts the key "ann". Callers without a key and bearer token are anonymous if open is
// set.
func keyed(open bool) auth.Authenticator {
	return auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		switch {
		case r.Header("X-Api-Key")[0] == "ann":
			return &auth.Principal{ID: "ann"}, nil
		case open && r.Header("Authorization") == nil:
			return &auth.Principal{ID: auth.Local}, nil
		}
		return nil, auth.ErrUnauthenticated
	})
}

func TestExtendedCard(t *testing.T) {
	t.Parallel()
	bearer := "Bearer " + cardToken
	token, callers := engine.ExtendedCards{Token: cardToken}, engine.ExtendedCards{Authenticated: true}
	both := engine.ExtendedCards{Token: cardToken, Authenticated: true}
	for _, tt := range []struct {
		name  string
		cards engine.ExtendedCards
		open  bool
		req   *auth.Request
		want  error
	}{
		{"off", engine.ExtendedCards{}, true, request("ann"), a2a.ErrUnsupportedOperation},
		{"token", token, true, request("", bearer), nil},
		{"scheme in capitals", token, true, request("", "BEARER  "+cardToken), nil},
		{"token on a closed hub", token, false, request("", bearer), nil},
		{"token beside a key", token, false, request("ann", bearer), nil},
		{"token beside a wrong key", token, false, request("bob", bearer), nil},
		{"no token", token, true, request(""), auth.ErrUnauthenticated},
		{"no token but a key", token, false, request("ann"), auth.ErrUnauthenticated},
		{"wrong token", token, false, request("", bearer+"x"), auth.ErrUnauthenticated},
		{"beginning of the token", token, false, request("", bearer[:len(bearer)-1]), auth.ErrUnauthenticated},
		{"empty token", token, false, request("", "Bearer "), auth.ErrUnauthenticated},
		{"another scheme", token, false, request("", "Basic "+cardToken), auth.ErrUnauthenticated},
		{"no scheme", token, false, request("", cardToken), auth.ErrUnauthenticated},
		{"twice", token, false, request("", bearer, bearer), auth.ErrUnauthenticated},
		{"huge", token, false, request("", bearer+strings.Repeat("x", 1<<20)), auth.ErrUnauthenticated},
		{"caller", callers, false, request("ann"), nil},
		{"anonymous", callers, true, request(""), auth.ErrUnauthenticated},
		{"empty bearer where there is no token", callers, true, request("", "Bearer "), auth.ErrUnauthenticated},
		{"both, token", both, false, request("", bearer), nil},
		{"both, caller", both, false, request("ann"), nil},
		{"both, anonymous", both, true, request(""), auth.ErrUnauthenticated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, engine.Config{Extended: tt.cards}, words())
			v, err := b.AuthenticateCard(t.Context(), keyed(tt.open), tt.req)
			var a *engine.Agent
			if err == nil {
				a, err = b.ExtendedCard(&v, &op.ExtendedCard{})
			}
			if !errors.Is(err, tt.want) || (err == nil) != (a != nil) {
				t.Errorf("ExtendedCard = %v, %v; want %v", a, err, tt.want)
			}
		})
	}
}

// The token grants access to the cards alone: a caller without other credentials is
// unauthenticated.
func TestTokenOfCardsOpensNothingElse(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Extended: engine.ExtendedCards{Token: cardToken}}, words())
	v, err := b.AuthenticateCard(t.Context(), keyed(false), request("", "Bearer "+cardToken))
	if err != nil || !v.Token || v.Principal != nil || !errors.Is(v.Err, auth.ErrUnauthenticated) {
		t.Errorf("Visit = %+v, %v; want the token, no principal and ErrUnauthenticated", v, err)
	}
	broken := auth.Func(func(context.Context, *auth.Request) (*auth.Principal, error) { return nil, nil })
	if _, err := b.AuthenticateCard(t.Context(), broken, request("")); err == nil || errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("Visit with a broken authenticator = %v, want an internal error", err)
	}
}

func TestExtendedCardOfWhichAgent(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{Extended: engine.ExtendedCards{Authenticated: true}}, words())
	b.register("other", words())
	for _, tt := range []struct {
		to   op.Target
		want task.Agent
		err  error
	}{
		{op.Target{}, "main", nil},
		{op.Target{Tenant: "other"}, "other", nil},
		{op.Target{Agent: "other"}, "other", nil},
		{op.Target{Agent: "other", Tenant: "other"}, "other", nil},
		{op.Target{Agent: "other", Tenant: "main"}, "", a2a.ErrInvalidParams},
		{op.Target{Tenant: "unknown"}, "", a2a.ErrTaskNotFound},
	} {
		a, err := b.ExtendedCard(&engine.CardCaller{Principal: alice.Principal}, &op.ExtendedCard{Target: tt.to})
		if !errors.Is(err, tt.err) || err == nil && a.Name != tt.want {
			t.Errorf("%+v: %v, %v; want %s, %v", tt.to, a, err, tt.want, tt.err)
		}
	}
}

// The error for an agent whose own card promises an extended one differs from that for other
// agents.
func TestPromisedExtendedCard(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words())
	promising := &a2a.AgentCard{Name: "promising", Capabilities: a2a.AgentCapabilities{ExtendedAgentCard: true}}
	if err := b.Register(engine.Agent{Name: "promising", Card: promising, Executor: words()}); err != nil {
		t.Fatal(err)
	}
	v := &engine.CardCaller{Principal: alice.Principal}
	_, err := b.ExtendedCard(v, &op.ExtendedCard{Target: op.Target{Tenant: "promising"}})
	if !errors.Is(err, a2a.ErrExtendedCardNotConfigured) {
		t.Errorf("promised: %v, want ErrExtendedCardNotConfigured", err)
	}
	_, err = b.ExtendedCard(v, &op.ExtendedCard{})
	var f *apierror.Error
	if !errors.Is(err, engine.ErrNoExtendedCard) || !errors.As(err, &f) {
		t.Errorf("not promised: %v, want ErrNoExtendedCard", err)
	}
}
