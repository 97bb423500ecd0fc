package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// probe tests one interface.
type probe struct {
	run    *run
	iface  wire.Interface
	caller wire.Caller
	seen   []*wire.Exchange // all answers so far
	kept   map[string]*wire.Exchange
	open   map[string]bool // tasks left open
	silent int             // consecutive calls without an answer

	patient bool // the first task of working stayed open
	hasty   bool // a task of working ended by itself
}

// behaviour is an action that the public kits request of an agent, by the prefix of the message
// id and by that of the first text.
type behaviour struct{ id, text string }

// The behaviours. If the id is empty, only one kit has the behaviour and requests it by text.
var (
	completes   = behaviour{"tck-complete-task", "tck-complete-task"}
	asks        = behaviour{"tck-input-required", "tck-input-required"}
	answers     = behaviour{"tck-message-response", "tck-message-response"}
	rejects     = behaviour{"tck-reject-task", "tck-reject-task"}
	givesText   = behaviour{"tck-artifact-text", "tck-artifact-text"}
	givesFile   = behaviour{"tck-artifact-file", "tck-artifact-file"}
	givesURL    = behaviour{"tck-artifact-file-url", "tck-artifact-file-url"}
	givesData   = behaviour{"tck-artifact-data", "tck-artifact-data"}
	staysOpen   = behaviour{"", "tck-cancel"}
	streams     = behaviour{"tck-stream-001", "tck-stream-basic"}
	sendsChunks = behaviour{"tck-stream-artifact-chunked", "tck-stream-chunked"}
)

// message returns the parameters of a send.
func (b behaviour) message() map[string]any {
	id := b.id
	if id == "" {
		id = "check"
	}
	return map[string]any{"message": map[string]any{
		"messageId": id + "-" + uuid.NewString(),
		"role":      "ROLE_USER",
		"parts":     []any{map[string]any{"text": b.text + " please"}},
	}}
}

// edit changes parameters.
type edit func(params map[string]any)

// in sets fields of the message; a nil value removes one.
func in(fields map[string]any) edit {
	return func(params map[string]any) { set(params["message"].(map[string]any), fields) }
}

// configured sets fields of the configuration.
func configured(fields map[string]any) edit {
	return func(params map[string]any) {
		c, ok := params["configuration"].(map[string]any)
		if !ok {
			c = map[string]any{}
			params["configuration"] = c
		}
		set(c, fields)
	}
}

func set(m, fields map[string]any) {
	maps.Copy(m, fields)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
}

// call sends a request and keeps the answer for the requirements about data.
func (p *probe) call(ctx context.Context, op wire.Op, params map[string]any) *wire.Exchange {
	return p.do(ctx, wire.Request{Op: op, Params: params})
}

func (p *probe) do(ctx context.Context, r wire.Request) *wire.Exchange {
	return p.ask(r.Op, func() *wire.Exchange { return p.caller.Call(ctx, r) })
}

// maxSilent is the number of consecutive calls without an answer after which an interface is no
// longer called.
const maxSilent = 5

var errSilent = fmt.Errorf("not called: the last %d calls had no answer", maxSilent)

// ask makes a call with f, unless the interface no longer answers.
func (p *probe) ask(op wire.Op, f func() *wire.Exchange) *wire.Exchange {
	if p.silent >= maxSilent {
		return &wire.Exchange{Interface: p.iface, Op: op, Err: errSilent}
	}
	x := f()
	x.Interface = p.iface
	p.seen = append(p.seen, x)
	lost := x.Status == 0 && !errors.Is(x.Err, wire.ErrInexpressible)
	if x.Err != nil && len(x.Events) == 0 && (lost || errors.Is(x.Err, wire.ErrTimeout)) {
		p.silent++
	} else {
		p.silent = 0
	}
	return x
}

func (p *probe) send(ctx context.Context, b behaviour, edits ...edit) *wire.Exchange {
	params := b.message()
	for _, e := range edits {
		e(params)
	}
	return p.call(ctx, wire.SendMessage, params)
}

// disregard excludes the answer to a malformed message from the checks. An agent that accepts
// such a message may repeat it in every answer about its task, so the whole task is excluded.
func (p *probe) disregard(x *wire.Exchange) {
	if x.Result == nil {
		return
	}
	p.seen = slices.DeleteFunc(p.seen, func(s *wire.Exchange) bool { return s == x })
	if id := text(x.Result, "task", "id"); id != "" {
		if p.run.tainted == nil {
			p.run.tainted = map[string]bool{}
		}
		p.run.tainted[id] = true
	}
}

// isTainted reports whether v belongs to a task that a malformed message has created.
func (r *run) isTainted(v any) bool {
	return r.tainted[text(v, "taskId")] || has(v, "status") && r.tainted[text(v, "id")]
}

// once makes the call of f, or returns the result of the first call.
func (p *probe) once(name string, f func() *wire.Exchange) *wire.Exchange {
	if p.kept[name] == nil {
		p.kept[name] = f()
	}
	return p.kept[name]
}

// plain returns the answer to an ordinary message.
func (p *probe) plain(ctx context.Context) *wire.Exchange {
	return p.once("plain", func() *wire.Exchange { return p.send(ctx, completes) })
}

// ok returns nil if x has a result.
func ok(x *wire.Exchange) error {
	switch {
	case errors.Is(x.Err, wire.ErrInexpressible):
		return notOffered(x.Err.Error())
	case x.Err != nil:
		return failf(x, "no answer to %s: %v", x.Op, x.Err)
	case x.Fault != nil:
		return failf(x, "%s answered with %v", x.Op, x.Fault)
	}
	return nil
}

// refused returns nil if x has an error of one of the kinds.
func refused(x *wire.Exchange, kinds ...wire.Kind) error {
	switch {
	case errors.Is(x.Err, wire.ErrInexpressible):
		return notOffered(x.Err.Error())
	case x.Err != nil:
		return failf(x, "no answer to %s: %v", x.Op, x.Err)
	case x.Fault == nil:
		return failf(x, "%s was accepted, want %s", x.Op, kinds[0])
	}
	if slices.ContainsFunc(kinds, x.Fault.Is) {
		return nil
	}
	return failf(x, "%s answered with %v, want %s", x.Op, x.Fault, kinds[0])
}

// task returns the task in x.
func task(x *wire.Exchange) (any, error) {
	if err := ok(x); err != nil {
		return nil, require(err)
	}
	t := at(x.Result, "task")
	if text(t, "id") == "" {
		return nil, notOffered("the agent answered with a message, not with a task")
	}
	return t, nil
}

// finished returns a task that has ended.
func (p *probe) finished(ctx context.Context) (any, error) {
	t, err := task(p.plain(ctx))
	if err != nil {
		return nil, err
	}
	if s := text(t, "status", "state"); !terminal(s) {
		return nil, notOfferedf("the agent does not finish a plain message: %s", s)
	}
	return t, nil
}

// asking returns a new task that waits for input.
func (p *probe) asking(ctx context.Context) (any, error) {
	t, err := task(p.send(ctx, asks))
	if err != nil {
		return nil, err
	}
	if s := text(t, "status", "state"); s != "TASK_STATE_INPUT_REQUIRED" {
		return nil, notOfferedf("the agent has no %s: it answered %s", asks.text, s)
	}
	p.open[text(t, "id")] = true
	return t, nil
}

// settle is the time for which the first open task of an interface must stay open by itself. If
// it ends earlier, requirements that need an open task use a waiting one or are not offered.
// Otherwise their outcome would depend on whether the agent or the check is faster.
const settle = 500 * time.Millisecond

// working returns a new task that has not ended.
func (p *probe) working(ctx context.Context) (any, error) {
	if p.hasty {
		return p.waiting(ctx)
	}
	t, err := task(p.send(ctx, staysOpen, configured(map[string]any{"returnImmediately": true})))
	if err != nil {
		return nil, err
	}
	id := text(t, "id")
	p.open[id] = true
	if terminal(text(t, "status", "state")) || !p.settled(ctx, id) {
		p.hasty = true
		return p.waiting(ctx)
	}
	return t, nil
}

// settled reports whether a new task stays open. Only the first one is observed.
func (p *probe) settled(ctx context.Context, id string) bool {
	if p.ended(ctx, id) {
		return false
	}
	if p.patient {
		return true
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	}
	p.patient = !p.ended(ctx, id)
	return p.patient
}

func (p *probe) ended(ctx context.Context, id string) bool {
	got := p.call(ctx, wire.GetTask, map[string]any{"id": id})
	return got.Fault == nil && terminal(text(got.Result, "status", "state"))
}

// waiting returns a new task that waits for input, from an agent whose tasks end by themselves.
func (p *probe) waiting(ctx context.Context) (any, error) {
	t, err := p.asking(ctx)
	if n, ok := errors.AsType[notOffered](err); ok {
		err = notOfferedf("the tasks of the agent end by themselves, and %s", string(n))
	}
	return t, err
}

func (p *probe) end(ctx context.Context, id string) error {
	x := p.call(ctx, wire.CancelTask, map[string]any{"id": id})
	delete(p.open, id)
	return require(ok(x))
}

// unknownID returns an id that no server has.
func unknownID() string { return uuid.NewString() }
