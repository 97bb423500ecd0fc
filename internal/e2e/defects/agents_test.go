package defects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

type yielder = func(a2a.Event, error) bool

// executor is an agent built from functions.
type executor struct {
	run    func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
	cancel func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
}

func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { x.run(ctx, ec, yield) }
}

func (x *executor) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.cancel != nil {
			x.cancel(ctx, ec, yield)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// named is an agent with its card.
type named struct {
	card     *a2a.AgentCard
	executor a2asrv.AgentExecutor
}

// allAgents returns the agents of every hub; echo is the default.
func allAgents() []named {
	plain := func(name string, run func(context.Context, *a2asrv.ExecutorContext, yielder)) named {
		return named{newCard(name), agent.With(&executor{run: run}, agent.Traits{NoMessage: true})}
	}
	text := plain("text", echo)
	text.card.DefaultInputModes = []string{"text/plain"}
	promising := plain("promising", echo)
	promising.card.Capabilities.ExtendedAgentCard = true
	return []named{
		plain("echo", echo), plain("ask", ask), plain("hold", hold), plain("nap", nap), plain("flood", flood),
		plain("leaky", leaky), plain("rich", rich), plain("artifact", artifactFirst), plain("panicky", panicky),
		text, promising,
		{newCard("torn"), &executor{run: torn}},
		{newCard("late"), &executor{run: lateMessage}},
		{newCard("greet"), &executor{run: greet}},
		{newCard("bomb"), agent.With(&executor{run: hold, cancel: explode}, agent.Traits{NoMessage: true})},
		{newCard("slowcancel"), agent.With(&executor{run: hold, cancel: slowly}, agent.Traits{NoMessage: true})},
	}
}

func newCard(name string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: name, Description: "the " + name + " agent", Version: "1.0.0",
		Skills: []a2a.AgentSkill{{ID: name, Name: name, Tags: []string{"test"}}},
	}
}

func status(ec *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	if text == "" {
		return a2a.NewStatusUpdateEvent(ec, s, nil)
	}
	return a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

func chunk(ec *a2asrv.ExecutorContext, text string, first, last bool) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(ec, "reply", a2a.NewTextPart(text))
	ev.Append, ev.LastChunk = !first, last
	return ev
}

func textOf(ec *a2asrv.ExecutorContext) string {
	if ec.Message == nil || len(ec.Message.Parts) == 0 {
		return ""
	}
	return ec.Message.Parts[0].Text()
}

// echo answers with the text of the message.
func echo(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) &&
		yield(chunk(ec, "> "+textOf(ec), true, true), nil) &&
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// ask asks one question.
func ask(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if ec.StoredTask == nil {
		yield(status(ec, a2a.TaskStateInputRequired, "which city?"), nil)
		return
	}
	_ = yield(chunk(ec, "sunny in "+textOf(ec), true, true), nil) &&
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// hold works until it is canceled.
func hold(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if yield(status(ec, a2a.TaskStateWorking, "secret of the owner"), nil) {
		<-ctx.Done()
	}
}

// nap works for the number of milliseconds in the message.
func nap(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	ms, _ := strconv.Atoi(textOf(ec))
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
		return
	}
	select {
	case <-timer.C:
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	case <-ctx.Done():
	}
}

// chunkSize is the size of the chunks of flood.
const chunkSize = 16 << 10

var padding = strings.Repeat("x", chunkSize-9)

// flood streams the number of chunks in the message. Each has chunkSize bytes and begins with
// its number.
func flood(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	n, _ := strconv.Atoi(textOf(ec))
	for i := range n {
		if !yield(chunk(ec, fmt.Sprintf("%08d ", i)+padding, i == 0, false), nil) {
			return
		}
	}
	yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// leak is a text that must never reach a caller.
const leak = "dial tcp 10.1.2.3:5432: SQLSTATE 28P01 password=hunter2"

// leaky fails with an internal error text.
func leaky(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if yield(status(ec, a2a.TaskStateWorking, ""), nil) {
		yield(nil, errors.New(leak))
	}
}

// torn fails with an error that wraps two errors of the protocol.
func torn(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
	yield(nil, fmt.Errorf("%s: %w, %w", leak, a2a.ErrUnsupportedOperation, a2a.ErrInvalidParams))
}

// gauge is a type that is known only to its agent.
type gauge struct {
	Name  string  `json:"name"`
	Level *int    `json:"level"`
	Big   int64   `json:"big"`
	Parts []gauge `json:"parts,omitempty"`
}

// rich puts values of its own types into metadata.
func rich(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	zero := 0
	ev := a2a.NewArtifactUpdateEvent(ec, "gauges", a2a.NewTextPart("see metadata"))
	ev.Artifact.Metadata = map[string]any{
		"gauge": gauge{"a", &zero, 9007199254740993, []gauge{{Name: "b"}}}, "none": nil, "zero": &zero,
	}
	_ = yield(ev, nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// artifactFirst sends an artifact as its first event.
func artifactFirst(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	_ = yield(chunk(ec, "at once", true, true), nil) && yield(status(ec, a2a.TaskStateCompleted, ""), nil)
}

// lateMessage answers with a bare message after events of a task.
func lateMessage(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	_ = yield(status(ec, a2a.TaskStateWorking, ""), nil) &&
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
}

// greet answers with a bare message at once.
func greet(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
	yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
}

func panicky(_ context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	yield(status(ec, a2a.TaskStateWorking, ""), nil)
	panic(leak)
}

func explode(context.Context, *a2asrv.ExecutorContext, yielder) { panic(leak) }

// slowly confirms a cancellation with a delay.
func slowly(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	yield(status(ec, a2a.TaskStateCanceled, ""), nil)
}
