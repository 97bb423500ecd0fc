package testagent

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// execution is the run that a scenario is executed in.
type execution struct {
	ctx   context.Context
	ec    *a2asrv.ExecutorContext
	yield func(a2a.Event, error) bool
}

// step performs one action and reports whether to continue.
type step func(*execution) bool

// enters changes the state without a message.
func enters(state a2a.TaskState) step {
	return func(s *execution) bool { return s.yield(agent.Status(s.ec, state), nil) }
}

// reports changes the state with a message.
func reports(state a2a.TaskState, words string) step {
	return func(s *execution) bool { return s.yield(agent.Status(s.ec, state, a2a.NewTextPart(words)), nil) }
}

// answers sends a message instead of a task.
func answers(words string) step {
	return func(s *execution) bool {
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(words))
		m.ContextID = s.ec.ContextID
		return s.yield(m, nil)
	}
}

// output is the id of the only artifact.
const output a2a.ArtifactID = "output"

// chunk sends part i of n of the artifact.
func chunk(part content, i, n int) step {
	return func(s *execution) bool {
		e := agent.Artifact(s.ec, &a2a.Artifact{ID: output, Name: string(output), Parts: a2a.ContentParts{part()}})
		e.Append, e.LastChunk = i > 0, i == n-1
		return s.yield(e, nil)
	}
}

// sends sends an artifact and ends the task, as kits without streaming expect.
func sends(part content) []step {
	return []step{chunk(part, 0, 1), enters(a2a.TaskStateCompleted)}
}

// works is gives with a working state before it, and an artifact in chunks.
func works(parts ...content) []step {
	steps := []step{enters(working)}
	for i, p := range parts {
		steps = append(steps, chunk(p, i, len(parts)))
	}
	return append(steps, enters(a2a.TaskStateCompleted))
}

// forever is longer than any task.
const forever = time.Duration(1<<63 - 1)

// waits sleeps for d, and ends the scenario if the run is canceled meanwhile.
func waits(d time.Duration) step {
	return func(s *execution) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-s.ctx.Done():
			return false
		}
	}
}

// content creates a part of an artifact. Each call returns a new one, because the event owns
// it.
type content func() *a2a.Part

const plainText = "text/plain"

func text(words string) content {
	return func() *a2a.Part { return a2a.NewTextPart(words) }
}

func file() content {
	return func() *a2a.Part { return named(a2a.NewRawPart([]byte("file content\n"))) }
}

func fileURL() content {
	return func() *a2a.Part { return named(a2a.NewFileURLPart("https://example.com/output.txt", plainText)) }
}

func data() content {
	return func() *a2a.Part { return a2a.NewDataPart(map[string]any{"key": "value", "count": 42}) }
}

// named sets the file name that kits expect on p.
func named(p *a2a.Part) *a2a.Part {
	p.Filename, p.MediaType = "output.txt", plainText
	return p
}
