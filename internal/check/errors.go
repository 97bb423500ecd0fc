package check

import (
	"context"
	"net/http"

	"github.com/parley-a2a/parley/internal/check/wire"
)

func extendedGuarded(ctx context.Context, p *probe) error {
	none := ""
	x := p.do(ctx, wire.Request{Op: wire.ExtendedCard, Key: &none})
	if x.Err == nil && x.Fault == nil {
		return failf(x, "the extended card was given to a caller without credentials")
	}
	return nil
}

func extendedCard(ctx context.Context, p *probe) error {
	if p.run.options.Wire.Key == "" {
		return notOffered("no credential was given (--api-key)")
	}
	x := p.call(ctx, wire.ExtendedCard, nil)
	if x.Fault != nil && x.Fault.Is(wire.NoExtendedCard) {
		return notOffered("none is configured")
	}
	if err := ok(x); err != nil {
		return err
	}
	if text(x.Result, "name") == "" {
		return failf(x, "the extended card has no name")
	}
	return nil
}

// unauthenticated requests a task with another key.
func (p *probe) unauthenticated(ctx context.Context, key string) (*wire.Exchange, error) {
	if len(list(p.run.card, "securityRequirements")) == 0 {
		return nil, notOffered("the card requires no credentials")
	}
	return p.do(ctx, wire.Request{Op: wire.GetTask, Params: map[string]any{"id": unknownID()}, Key: &key}), nil
}

func authMissing(ctx context.Context, p *probe) error { return p.turnedAway(ctx, "") }

func authWrong(ctx context.Context, p *probe) error { return p.turnedAway(ctx, "check-"+unknownID()) }

func (p *probe) turnedAway(ctx context.Context, key string) error {
	x, err := p.unauthenticated(ctx, key)
	switch {
	case err != nil:
		return err
	case x.Fault == nil && x.Status != http.StatusUnauthorized && x.Status != http.StatusForbidden:
		return failf(x, "the call was not refused")
	case x.Fault != nil && x.Fault.Is(wire.TaskNotFound):
		return failf(x, "the call was processed before it was refused")
	}
	return nil
}

func authChallenge(ctx context.Context, p *probe) error {
	x, err := p.unauthenticated(ctx, "")
	if err != nil {
		return err
	}
	if x.Status != http.StatusUnauthorized || x.Header.Get("WWW-Authenticate") == "" {
		return failf(x, "the refusal has status %d and WWW-Authenticate %q", x.Status, x.Header.Get("WWW-Authenticate"))
	}
	return nil
}

// notFound returns the error for a task that does not exist.
func (p *probe) notFound(ctx context.Context) (x *wire.Exchange, err error) {
	x = p.once("not found", func() *wire.Exchange {
		return p.call(ctx, wire.GetTask, map[string]any{"id": unknownID()})
	})
	if x.Fault == nil {
		err = require(refused(x, wire.TaskNotFound))
	}
	return x, err
}

func errorStatus(ctx context.Context, p *probe) error {
	x, err := p.notFound(ctx)
	if err != nil {
		return err
	}
	if !x.Fault.StatusOf(wire.TaskNotFound) {
		return failf(x, "a TaskNotFoundError came as %v", x.Fault)
	}
	return nil
}
