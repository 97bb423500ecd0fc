package stalled

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

type yielder = func(a2a.Event, error) bool

// executor is an agent built from a function.
type executor struct {
	run func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder)
}

func (x *executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { x.run(ctx, ec, yield) }
}

func (*executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
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
	return []named{plain("echo", echo), plain("hold", hold), plain("flood", flood)}
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

// hold works until it is canceled.
func hold(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
	if yield(status(ec, a2a.TaskStateWorking, "secret of the owner"), nil) {
		<-ctx.Done()
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
