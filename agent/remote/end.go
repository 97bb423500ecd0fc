package remote

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// hold keeps back the status that ends the task, because the hub's own task accepts nothing
// after it, and some agents send their final status before their artifacts. It returns the
// other news.
func (r *run) hold(ev *peer.Event, news [][]byte) [][]byte {
	r.complete = ev.Whole && !r.agent.ReturnImmediately
	if !hasStatus(news) {
		if r.held == nil {
			r.held = statusUpdate(member(ev.Body(), "status"), nil)
		}
		return news
	}
	last := len(news) - 1
	r.held = mergedEnd(r.held, news[last])
	return news[:last]
}

// mergedEnd merges two final status updates: the later status, with the message and the other
// members that only the first has, and the metadata of both.
func mergedEnd(first, later []byte) []byte {
	if first == nil {
		return later
	}
	before, after := bodyOf(first), bodyOf(later)
	last := member(after, "status")
	status := []byte{'{'}
	for name, value := range rawjson.Fields(member(before, "status")) {
		if member(last, name) == nil {
			status = rawjson.AppendMember(status, name, value)
		}
	}
	if len(status) > 1 {
		status = append(status, ',')
	}
	c := change{
		status: append(status, last[1:]...), // the status has a state
		meta:   traits(nil).merge("", member(before, "metadata")).merge("", member(after, "metadata")),
		others: traits(nil).rest(before).rest(after),
		frame:  frameOf(first).and(frameOf(later)),
	}
	return c.json()
}

// bodyOf returns the body inside of an event.
func bodyOf(event []byte) []byte {
	for _, body := range rawjson.Fields(event) {
		return body
	}
	return nil
}

// How long the hub waits for the answer of an agent that has reported nothing but its
// completion, and how long if the agent calls back.
const (
	lateAnswer   = 250 * time.Millisecond
	lateCallback = time.Second
)

// finish passes on the final status of the task, after the last event of the peer; it reports
// whether the task has ended. A task that is completed without any answer is read once more,
// unless the send blocked until the end. If it has failed without a message, the error that the
// agent has answered is the message.
func (r *run) finish(ctx context.Context) (done bool) {
	if r.held == nil {
		return false
	}
	if r.state == a2a.TaskStateCompleted && !r.complete && r.silent() && r.lookLate(ctx) {
		return true
	}
	if r.state == a2a.TaskStateFailed && r.saidWhy() && member(member(bodyOf(r.held), "status"), "message") == nil {
		r.held = mergedEnd(statusWithText(r.state, r.name()+" "+r.worded(failedWith(r.sendErr))), r.held)
	}
	r.end(r.held)
	return true
}

// end passes on the event that ends the task. The position is kept with it, because later messages
// may refer to the task.
func (r *run) end(event []byte) {
	if r.task() != "" {
		r.mu.Lock()
		blob := r.h.encode()
		r.mu.Unlock()
		_ = r.call.Checkpoint(blob) // if it is too long, an earlier one remains
	}
	r.yield(&agent.Raw{JSON: event}, nil)
}

// silent reports whether the agent has given no answer.
func (r *run) silent() bool {
	status := member(bodyOf(r.held), "status")
	return len(r.relay.artifacts) == 0 && member(status, "message") == nil
}

// lookLate reads a task that has ended; it reports whether the run is over.
func (r *run) lookLate(ctx context.Context) (stopped bool) {
	if r.notified == nil {
		_ = pause(ctx, lateAnswer)
	} else {
		select {
		case <-r.notified:
		case <-time.After(lateCallback):
		case <-ctx.Done():
		}
	}
	p, err := r.agent.peer(ctx)
	if err != nil {
		return false
	}
	ev, err := p.Get(ctx, r.h.Task, r.agent.HistoryLength)
	if unreadable(err) {
		return r.failUnread(err)
	}
	return err == nil && ev.State == a2a.TaskStateCompleted && r.deliver(&ev)
}
