package workertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
)

// Executor is the agent of the transcripts in Go.
type Executor struct{}

var _ a2asrv.AgentExecutor = Executor{}

// Traits implements agent.Described.
func (Executor) Traits() agent.Traits { return agent.Traits{AfterCrash: agent.Repeat} }

// Cancel implements a2asrv.AgentExecutor.
func (Executor) Cancel(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	if strings.Contains(string(agent.CallFrom(ctx).Message), "stubborn") {
		return func(yield func(a2a.Event, error) bool) { yield(nil, errors.New("the ship has sailed")) }
	}
	return agent.ConfirmCancel(x)
}

// behavior performs a message after its first word.
type behavior func(ctx context.Context, x *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool)

// behaviors are those of the README of the transcripts.
var behaviors = map[string]behavior{
	"echo": func(_ context.Context, x *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool) {
		yield(status(x, a2a.TaskStateCompleted, rest), nil)
	},
	"progress": func(_ context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		_ = yield(status(x, a2a.TaskStateWorking, "halfway"), nil) && yield(status(x, a2a.TaskStateCompleted, "done"), nil)
	},
	"stream": stream,
	"ask": func(_ context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		yield(status(x, a2a.TaskStateInputRequired, "how many?"), nil)
	},
	"whoami": func(ctx context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		yield(status(x, a2a.TaskStateCompleted, auth.PrincipalFrom(ctx).ID), nil)
	},
	"length": func(_ context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		yield(status(x, a2a.TaskStateCompleted, strconv.Itoa(len(agent.Text(x.Message)))), nil)
	},
	"large": func(_ context.Context, x *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool) {
		n, _ := strconv.Atoi(rest) // the transcripts have numbers
		_ = yield(chunk(x, "large", strings.Repeat("x", n), false, true), nil) && yield(status(x, a2a.TaskStateCompleted, ""), nil)
	},
	"fail": func(_ context.Context, _ *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool) {
		yield(nil, a2a.NewError(a2a.ErrInternalError, rest))
	},
	"crash": func(_ context.Context, _ *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool) {
		yield(nil, errors.New(rest))
	},
	"silent": func(context.Context, *a2asrv.ExecutorContext, string, func(a2a.Event, error) bool) {},
	"late": func(_ context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		_ = yield(status(x, a2a.TaskStateCompleted, ""), nil) && yield(status(x, a2a.TaskStateWorking, ""), nil)
	},
	"signin": func(_ context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
		yield(status(x, a2a.TaskStateAuthRequired, ""), nil)
	},
	"wait":     wait,
	"stubborn": wait,
}

// Execute implements a2asrv.AgentExecutor.
func (Executor) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		if x.StoredTask != nil {
			yield(status(x, a2a.TaskStateCompleted, agent.Text(x.Message)+" it is"), nil)
			return
		}
		word, rest, _ := strings.Cut(agent.Text(x.Message), " ")
		behave := behaviors[word]
		if behave == nil {
			yield(nil, fmt.Errorf("the word %q is not known", word))
			return
		}
		behave(ctx, x, rest, yield)
	}
}

func stream(_ context.Context, x *a2asrv.ExecutorContext, rest string, yield func(a2a.Event, error) bool) {
	n, _ := strconv.Atoi(rest) // the transcripts have numbers
	for i := range n {
		if !yield(chunk(x, "numbers", strconv.Itoa(i)+" ", i > 0, i == n-1), nil) {
			return
		}
	}
	yield(status(x, a2a.TaskStateCompleted, ""), nil)
}

func wait(ctx context.Context, x *a2asrv.ExecutorContext, _ string, yield func(a2a.Event, error) bool) {
	if yield(status(x, a2a.TaskStateWorking, "waiting"), nil) {
		<-ctx.Done()
	}
}

func status(x *a2asrv.ExecutorContext, state a2a.TaskState, text string) a2a.Event {
	var m *a2a.Message
	if text != "" {
		m = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	}
	return a2a.NewStatusUpdateEvent(x, state, m)
}

func chunk(x *a2asrv.ExecutorContext, id, text string, more, last bool) a2a.Event {
	event := a2a.NewArtifactEvent(x, a2a.NewTextPart(text))
	event.Artifact.ID, event.Append, event.LastChunk = a2a.ArtifactID(id), more, last
	return event
}
