package exchange

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/wake"
)

// marks holds responses back until the statuses before them have arrived. An agent publishes its
// statuses first, but they are in another queue of the hub, and the broker delivers the two
// queues independently of each other. A mark, which the hub publishes behind the statuses once it
// has received responses, comes back after them.
type marks struct {
	wake wake.Signal
	// passed receives the id of a mark that has come back.
	passed chan string

	mu   sync.Mutex // guards the field below
	held []heldResponse
}

// heldResponse is a response to a job that waits for a mark.
type heldResponse struct {
	job string
	message
}

const (
	typeMark = "parley.mark"
	// markTime is how long responses wait for a mark.
	markTime = 2 * time.Second
	// markPause is the time without marks after one has not come back: another process that
	// receives from the same queue has got it, and gets statuses as well.
	markPause = time.Minute
)

// take returns and removes the held responses.
func (m *marks) take() []heldResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.held
	m.held = nil
	return all
}

// pass reports a mark. Only one is expected at a time; others are of other processes.
func (m *marks) pass(id string) {
	select {
	case m.passed <- id:
	default:
	}
}

// passResponses passes held responses to their runs until ctx ends: all that have arrived by
// then, each time a mark has come back. The broker redelivers the rest.
func (x *Exchange) passResponses(ctx context.Context) error {
	var again time.Time // when marks are published again
	for {
		select {
		case <-x.marks.wake:
		case <-ctx.Done():
			x.marks.take()
			return nil
		}
		all := x.marks.take()
		if time.Now().After(again) && !x.mark(ctx) && ctx.Err() == nil {
			again = time.Now().Add(markPause)
			x.log().Info("statuses of RockBot's agents may come after their results", "hub", x.Name, "for", markPause)
		}
		if ctx.Err() != nil {
			return nil
		}
		for _, h := range all {
			x.respond(h.job, h.message)
		}
	}
}

// mark publishes a mark and waits until it comes back. It reports false if it did not.
func (x *Exchange) mark(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	id := uuid.NewString()
	select {
	case <-x.marks.passed: // a mark that came back too late
	default:
	}
	if err := x.x.PublishTo(ctx, x.statuses().Name, &amqpbus.Message{ID: id, Type: typeMark, Body: []byte("{}")}); err != nil {
		return false
	}
	for {
		select {
		case got := <-x.marks.passed:
			if got == id {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}
