package check

import (
	"context"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// declares reports whether the card has a capability.
func (p *probe) declares(capability string) bool {
	on, _ := at(p.run.card, "capabilities", capability).(bool)
	return on
}

// stream returns the complete stream for a message.
func (p *probe) stream(ctx context.Context, b behaviour) *wire.Exchange {
	return p.once("stream "+b.text, func() *wire.Exchange {
		return p.call(ctx, wire.StreamMessage, b.message())
	})
}

// streamed returns a check of the events of an ordinary stream.
func streamed(f func(*probe, *wire.Exchange) error) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		x := p.stream(ctx, streams)
		if len(x.Events) == 0 {
			if err := ok(x); err != nil {
				return err
			}
			return failf(x, "the answer is not a stream, or has no events")
		}
		return f(p, x)
	}
}

var eventArms = []string{"task", "message", "statusUpdate", "artifactUpdate"}

func streamFirst(_ *probe, x *wire.Exchange) error {
	if first := x.Events[0].Value; text(first, "task", "id") == "" && at(first, "message") == nil {
		return failf(x, "the first event must be a task or a message: %q", arms(first, eventArms...))
	}
	return nil
}

func streamArms(_ *probe, x *wire.Exchange) error {
	for i, e := range x.Events {
		if got := arms(e.Value, eventArms...); len(got) != 1 && e.Fault == nil {
			return failf(x, "event %d has %q", i+1, got)
		}
	}
	return nil
}

// stateOf returns the state in an event; empty if it has none.
func stateOf(e wire.Event) string {
	if s := text(e.Value, "task", "status", "state"); s != "" {
		return s
	}
	return text(e.Value, "statusUpdate", "status", "state")
}

func streamEnds(_ *probe, x *wire.Exchange) error {
	last := ""
	for _, e := range x.Events {
		if s := stateOf(e); s != "" {
			last = s
		}
	}
	switch {
	case last == "" && x.Ended, interrupted(last):
		return nil
	case !x.Ended:
		return failf(x, "the stream ended early, after %s: %v", last, x.Err)
	case !terminal(last):
		return failf(x, "the stream ended while the task was %s", last)
	}
	return nil
}

func streamOrder(_ *probe, x *wire.Exchange) error {
	before := ""
	for i, e := range x.Events {
		s := stateOf(e)
		switch {
		case terminal(before) && (s != before || at(e.Value, "task") == nil):
			return failf(x, "event %d comes after %s", i+1, before)
		case s == "TASK_STATE_SUBMITTED" && before != "" && before != s:
			return failf(x, "event %d goes from %s back to %s", i+1, before, s)
		}
		if s != "" {
			before = s
		}
	}
	return nil
}

func streamIDs(_ *probe, x *wire.Exchange) error {
	first := at(x.Events[0].Value, "task")
	if first == nil {
		return notOffered("the agent answers a stream with a message")
	}
	for i, e := range x.Events {
		for _, arm := range []string{"statusUpdate", "artifactUpdate"} {
			update := at(e.Value, arm)
			if update == nil {
				continue
			}
			if text(update, "taskId") != text(first, "id") || text(update, "contextId") != text(first, "contextId") {
				return failf(x, "event %d is about task %q in context %q", i+1, text(update, "taskId"), text(update, "contextId"))
			}
		}
	}
	return nil
}

func streamResult(ctx context.Context, p *probe) error {
	return streamed(func(p *probe, x *wire.Exchange) error {
		id, last := text(x.Events[0].Value, "task", "id"), ""
		for _, e := range x.Events {
			if s := stateOf(e); s != "" {
				last = s
			}
		}
		if id == "" || !terminal(last) {
			return notOffered("the stream does not lead to the end of a task")
		}
		after := p.call(ctx, wire.GetTask, map[string]any{"id": id})
		if err := ok(after); err != nil {
			return with(err, x)
		}
		if got := text(after.Result, "status", "state"); got != last {
			return with(failf(after, "the task is %s, but the stream ended with %s", got, last), x)
		}
		return nil
	})(ctx, p)
}

func streamMessageOnly(ctx context.Context, p *probe) error {
	x := p.stream(ctx, answers)
	if len(x.Events) == 0 || at(x.Events[0].Value, "message") == nil {
		return notOfferedf("the agent has no %s", answers.text)
	}
	switch {
	case len(x.Events) > 1:
		return failf(x, "%d events follow the message", len(x.Events)-1)
	case !x.Ended:
		return failf(x, "the stream did not end after the message: %v", x.Err)
	}
	return nil
}

func streamChunks(ctx context.Context, p *probe) error {
	x := p.stream(ctx, sendsChunks)
	begun, chunks := map[string]bool{}, 0
	for i, e := range x.Events {
		update := at(e.Value, "artifactUpdate")
		if update == nil {
			continue
		}
		id := text(update, "artifact", "artifactId")
		appended := at(update, "append") == true
		switch {
		case appended && !begun[id]:
			return failf(x, "event %d appends to artifact %q, which does not exist yet", i+1, id)
		case !appended && begun[id]:
			return failf(x, "event %d begins artifact %q again", i+1, id)
		}
		begun[id] = true
		chunks++
	}
	if chunks < 2 {
		return notOfferedf("the agent has no %s", sendsChunks.text)
	}
	return nil
}

func streamType(ctx context.Context, p *probe) error {
	x := p.stream(ctx, streams)
	if x.Fault != nil && len(x.Events) == 0 || x.Err != nil && x.Status == 0 {
		return require(ok(x))
	}
	if got := wire.MediaType(x.Header); got != "text/event-stream" {
		return failf(x, "the stream has the media type %q", got)
	}
	return nil
}

func streamEnvelope(ctx context.Context, p *probe) error {
	x := p.do(ctx, wire.Request{Op: wire.StreamMessage, Params: streams.message(), ID: "check-id-7"})
	if len(x.Events) == 0 {
		return notOffered("there is no stream with events")
	}
	for i, e := range x.Events {
		if text(e.Envelope, "jsonrpc") != "2.0" || text(e.Envelope, "id") != "check-id-7" {
			return failf(x, "event %d has jsonrpc %s and id %s", i+1, compact(at(e.Envelope, "jsonrpc")), compact(at(e.Envelope, "id")))
		}
	}
	return nil
}

func streamEarlyError(ctx context.Context, p *probe) error {
	params := streams.message()
	in(map[string]any{"taskId": unknownID()})(params)
	x := p.call(ctx, wire.StreamMessage, params)
	if err := refused(x, wire.TaskNotFound); err != nil {
		return err
	}
	if got := wire.MediaType(x.Header); got == "text/event-stream" {
		return failf(x, "the error came as %s", got)
	}
	return nil
}

// subscription subscribes to a new task in progress.
func (p *probe) subscription(ctx context.Context) (id string, s *wire.Stream, err error) {
	t, err := p.working(ctx)
	if err != nil {
		return "", nil, err
	}
	id = text(t, "id")
	return id, p.subscribe(ctx, id), nil
}

func (p *probe) subscribe(ctx context.Context, id string) *wire.Stream {
	s := p.caller.Open(ctx, wire.Request{Op: wire.SubscribeTask, Params: map[string]any{"id": id}})
	p.seen = append(p.seen, s.Exchange)
	return s
}

func subscribeFirst(ctx context.Context, p *probe) error {
	id, s, err := p.subscription(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	first, began := s.Next()
	if !began {
		return p.noEvents(ctx, id, s.Exchange)
	}
	if got := text(first.Value, "task", "id"); got != id {
		return failf(s.Exchange, "the first event is %q, want the task", arms(first.Value, eventArms...))
	}
	return nil
}

// noEvents returns the reason why the stream of a task has no events. A fast agent may have
// finished the task before the subscription.
func (p *probe) noEvents(ctx context.Context, id string, x *wire.Exchange) error {
	if x.Fault != nil && x.Fault.Is(wire.Unsupported) {
		now := p.call(ctx, wire.GetTask, map[string]any{"id": id})
		if terminal(text(now.Result, "status", "state")) {
			return notOffered("the agent finishes its tasks before they can be followed")
		}
	}
	if err := ok(x); err != nil {
		return err
	}
	return failf(x, "the stream has no events")
}

// endsTerminal returns nil if x shows the end of a task and the server ended the stream.
func endsTerminal(x *wire.Exchange) error {
	if !x.Ended {
		return failf(x, "the stream did not end with the task: %v", x.Err)
	}
	for _, e := range x.Events {
		if terminal(stateOf(e)) {
			return nil
		}
	}
	return failf(x, "the stream did not show the end of the task")
}

func subscribeEnds(ctx context.Context, p *probe) error {
	id, s, err := p.subscription(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, began := s.Next(); !began {
		return notOffered("the stream has no events")
	}
	if err := p.end(ctx, id); err != nil {
		return err
	}
	s.Rest()
	return endsTerminal(s.Exchange)
}

// pair opens two streams of a task, and reads their first events.
func (p *probe) pair(ctx context.Context) (id string, a, b *wire.Stream, err error) {
	id, a, err = p.subscription(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	b = p.subscribe(ctx, id)
	_, first := a.Next()
	_, second := b.Next()
	if !first || !second {
		a.Close()
		b.Close()
		return "", nil, nil, notOffered("the agent does not serve two streams of a task")
	}
	return id, a, b, nil
}

func subscribeBroadcast(ctx context.Context, p *probe) error {
	id, a, b, err := p.pair(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	defer b.Close()
	if err := p.end(ctx, id); err != nil {
		return err
	}
	// The events after the snapshots are the same, except for those between the two snapshots,
	// which may be in either order.
	got, want := laterEvents(b.Rest()), laterEvents(a.Rest())
	same := min(len(got), len(want))
	if !slices.Equal(got[len(got)-same:], want[len(want)-same:]) {
		return with(failf(b.Exchange, "two streams of a task had different events:\n%s\n%s",
			strings.Join(want, "\n"), strings.Join(got, "\n")), a.Exchange)
	}
	return nil
}

// laterEvents returns the events after the first, as JSON.
func laterEvents(x *wire.Exchange) []string {
	var all []string
	for _, e := range x.Events[1:] {
		all = append(all, compact(e.Value))
	}
	return all
}

func subscribeIndependent(ctx context.Context, p *probe) error {
	id, a, b, err := p.pair(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	a.Close()
	if err := p.end(ctx, id); err != nil {
		return err
	}
	return endsTerminal(b.Rest())
}
