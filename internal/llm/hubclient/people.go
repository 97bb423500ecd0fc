package hubclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/llm"
)

// PersonQuestion is a question to a person.
type PersonQuestion struct {
	// Key has the same meaning as in Send.
	Key string
	// Text is the question. Agent is the asking agent, or empty.
	Text, Agent string
	// Wait is how long to wait for the answer; zero means until ctx ends.
	Wait time.Duration
}

// AskPerson sends a question to a person through the inbox of the hub and waits for the answer.
// A question whose key was used joins the first one. If ctx ends, the question is withdrawn. If
// q.Wait is over, the question stays open, and the error wraps ErrRefused and explains how to
// get the answer later.
func (h *Hub) AskPerson(ctx context.Context, q *PersonQuestion) (*llm.Answer, error) {
	in := adminjson.NewQuestion{Key: q.Key, Text: q.Text, Agent: q.Agent}
	var it inbox.Item
	// The request does not end with ctx: the hub answers at once, and an aborted call must know
	// the item to withdraw.
	put, done := context.WithTimeoutCause(context.WithoutCancel(ctx), acceptTimeout+h.patience(), errors.New("the hub does not answer"))
	defer done()
	err := h.ask(put, &request{method: http.MethodPost, path: apiRoot + "/inbox", in: &in, out: &it, again: q.Key != ""})
	if errors.Is(err, ErrNotFound) {
		return nil, Refusef("this hub has no inbox, so that no person can be asked")
	}
	if err != nil {
		return nil, err
	}
	wait, cancel := waiting(ctx, q.Wait)
	defer cancel()
	err = h.awaitItem(wait, &it)
	switch {
	case ctx.Err() != nil:
		h.withdraw(ctx, it.ID)
		return nil, context.Cause(ctx)
	case wait.Err() != nil:
		return nil, Refusef("no person has answered yet. The question stays in the inbox for seven days: ask the same question again later to get the answer, or continue without it")
	case err != nil:
		return nil, err
	case it.State == inbox.Answered:
		return &llm.Answer{Text: it.Answer}, nil
	}
	return &llm.Answer{Refused: true}, nil
}

// awaitItem waits until an item is settled. It waits for an unreachable hub.
func (h *Hub) awaitItem(ctx context.Context, it *inbox.Item) error {
	for it.State == inbox.Open {
		var received bool
		err := h.retry(ctx, func() (bool, error) {
			err := h.readInbox(ctx, it, &received)
			return err != nil && !received && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrRefused), err
		})
		if err != nil && !received || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// readInbox reads the events of the inbox until the item is settled or the stream ends.
func (h *Hub) readInbox(ctx context.Context, it *inbox.Item, received *bool) error {
	opened := func() (bool, error) {
		// The stream reports all changes from now on.
		err := h.ask(ctx, &request{method: http.MethodGet, path: apiRoot + "/inbox/" + string(it.ID), out: it, again: true})
		*received = err == nil
		return err == nil && it.State != inbox.Open, err
	}
	return h.events(ctx, &request{method: http.MethodGet, path: apiRoot + "/inbox/events"}, opened, func(data string) bool {
		var changed inbox.Item
		if json.Unmarshal([]byte(data), &changed) == nil && changed.ID == it.ID {
			*it = changed
		}
		return it.State != inbox.Open
	})
}

// withdraw withdraws a question whose caller no longer waits.
func (h *Hub) withdraw(ctx context.Context, id inbox.ID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	in := adminjson.Decision{Text: "The agent that asked no longer waits."}
	r := &request{method: http.MethodPost, path: apiRoot + "/inbox/" + string(id) + "/refuse", in: in}
	if err := h.try(ctx, r); err != nil && h.Logger != nil {
		h.Logger.Warn("a question could not be withdrawn", "item", id, "error", err)
	}
}
