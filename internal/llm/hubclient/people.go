package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/llm/agenttools"
	"github.com/parley-a2a/parley/llm"
)

// People returns an implementation that asks through the inbox of the hub.
func (h *Hub) People() agenttools.People { return people{h} }

type people struct{ hub *Hub }

// Ask implements agenttools.People.
func (p people) Ask(ctx context.Context, q *agenttools.PersonQuestion) (*llm.Answer, error) {
	in := adminjson.NewQuestion{Key: q.Key, Text: q.Text, Agent: q.Agent}
	var it inbox.Item
	// The request does not end with ctx: the hub answers at once, and an aborted call must know
	// the item to withdraw.
	put, done := context.WithTimeoutCause(context.WithoutCancel(ctx), acceptTimeout+p.hub.patience(), errors.New("the hub does not answer"))
	defer done()
	err := p.hub.ask(put, &request{method: http.MethodPost, path: "/inbox", in: &in, out: &it, again: q.Key != ""})
	if errors.Is(err, agenttools.ErrNotFound) {
		return nil, agenttools.Refuse(agenttools.ErrRefused, "this hub has no inbox, so that nobody can be asked")
	}
	if err != nil {
		return nil, err
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if q.Wait > 0 {
		wait, cancel = context.WithTimeoutCause(ctx, q.Wait, errWaited)
	}
	defer cancel()
	err = p.await(wait, &it)
	switch {
	case ctx.Err() != nil:
		p.withdraw(ctx, it.ID)
		return nil, context.Cause(ctx)
	case wait.Err() != nil:
		return nil, agenttools.Refuse(agenttools.ErrRefused, "nobody has answered yet. The question stays in the inbox for seven days: ask the same question again later to get the answer, or go on without it")
	case err != nil:
		return nil, err
	case it.State == inbox.Answered:
		return &llm.Answer{Text: it.Answer}, nil
	}
	return &llm.Answer{Refused: true}, nil
}

// await waits until an item is settled. It waits for an unreachable hub.
func (p people) await(ctx context.Context, it *inbox.Item) error {
	for it.State == inbox.Open {
		var heard bool
		err := p.hub.patiently(ctx, func() (bool, error) {
			err := p.listen(ctx, it, &heard)
			return err != nil && !heard && !errors.Is(err, agenttools.ErrNotFound) && !errors.Is(err, agenttools.ErrRefused), err
		})
		if err != nil && !heard || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// listen reads the events of the inbox until the item is settled or the stream ends.
func (p people) listen(ctx context.Context, it *inbox.Item, heard *bool) error {
	opened := func() (bool, error) {
		// The stream reports all changes from now on.
		err := p.look(ctx, it)
		*heard = err == nil
		return err == nil && it.State != inbox.Open, err
	}
	return p.hub.events(ctx, &request{method: http.MethodGet, path: "/inbox/events"}, opened, func(data string) bool {
		var told inbox.Item
		if json.Unmarshal([]byte(data), &told) == nil && told.ID == it.ID {
			*it = told
		}
		return it.State != inbox.Open
	})
}

// look reads an item.
func (p people) look(ctx context.Context, it *inbox.Item) error {
	return p.hub.ask(ctx, &request{method: http.MethodGet, path: "/inbox/" + string(it.ID), out: it, again: true})
}

// withdraw withdraws a question whose caller no longer waits.
func (p people) withdraw(ctx context.Context, id inbox.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	in := adminjson.Decision{Text: "Whoever asked waits no more."}
	r := &request{method: http.MethodPost, path: "/inbox/" + string(id) + "/refuse", in: in}
	if err := p.hub.try(ctx, r); err != nil && p.hub.Logger != nil {
		p.hub.Logger.Warn("a question could not be withdrawn", "item", id, "error", err)
	}
}
