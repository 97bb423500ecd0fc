package check

import (
	"context"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// A fixture is an answer that requirements build on. It returns the exchange and, if it has
// judged it, the value that assertions are of.
type fixture func(context.Context, *probe) (x *wire.Exchange, root any, err error)

// fixtures are the answers that a document names with "given".
var fixtures = map[string]fixture{
	"card": func(_ context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.fetched()
		return x, p.run.card, err
	},
	// current-card is a card that is not one of v0.3.
	"current-card": func(_ context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.current()
		return x, p.run.card, err
	},
	// plain-answer is the answer to an ordinary message, task the task in it, and
	// finished-task that task if it has ended.
	"plain-answer": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) { return p.plain(ctx), nil, nil },
	"task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		t, err := task(p.plain(ctx))
		return p.plain(ctx), t, err
	},
	"finished-task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		t, err := p.finished(ctx)
		return p.plain(ctx), t, err
	},
	// asking-task is a new task that waits for input.
	"asking-task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		t, err := p.asking(ctx)
		return nil, t, err
	},
	// two-tasks is the first of two finished tasks of a context.
	"two-tasks": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		t, _, err := p.twoTasks(ctx)
		return nil, t, err
	},
	// unknown-task-error is the error for a task that does not exist, whatever its kind.
	"unknown-task-error": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.notFound(ctx)
		return x, x.Fault, err
	},
	"old-answer": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		return p.oldSay(ctx, completes), nil, nil
	},
	"old-finished-task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.oldFinished(ctx)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Result, nil
	},
}
