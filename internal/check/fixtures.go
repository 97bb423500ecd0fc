package check

import (
	"context"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// fixture is an answer that requirements share. It returns the exchange and, if it has judged
// the exchange, the value for assertions.
type fixture func(context.Context, *probe) (x *wire.Exchange, root any, err error)

// fixtures are the answers that documents reference with "given".
var fixtures = map[string]fixture{
	"card": func(_ context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.fetched()
		return x, p.run.card, err
	},
	// current-card is a card of a version other than v0.3.
	"current-card": func(_ context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.current()
		return x, p.run.card, err
	},
	// plain-answer is the answer to an ordinary message, task is its task, and finished-task is
	// that task if it has ended.
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
	// two-tasks is the first of two finished tasks of a context, second-task is the other.
	"two-tasks": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		t, _, err := p.twoTasks(ctx)
		return nil, t, err
	},
	"second-task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		_, t, err := p.twoTasks(ctx)
		return nil, t, err
	},
	// unknown-task-error is the error for a task that does not exist, of any kind.
	"unknown-task-error": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.notFound(ctx)
		return x, x.Fault, err
	},
	"old-answer": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		return p.sendLegacy(ctx, completes), nil, nil
	},
	"old-finished-task": func(ctx context.Context, p *probe) (*wire.Exchange, any, error) {
		x, err := p.oldFinished(ctx)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Result, nil
	},
}
