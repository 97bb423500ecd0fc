package builtin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// find returns the built-in agent with the given name.
func find(t testing.TB, name task.Agent) builtin.Agent {
	t.Helper()
	for _, a := range builtin.Agents() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("unknown agent %q", name)
	return builtin.Agent{}
}

// asking returns the context of a first run with a message of parts.
func asking(parts ...*a2a.Part) *a2asrv.ExecutorContext {
	return &a2asrv.ExecutorContext{
		TaskID:    "task-1",
		ContextID: "context-1",
		Message:   a2a.NewMessage(a2a.MessageRoleUser, parts...),
	}
}

// run executes the named agent and returns its events; an error fails the test.
func run(t testing.TB, name task.Agent, ec *a2asrv.ExecutorContext) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for e, err := range find(t, name).Executor.Execute(t.Context(), ec) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := e.TaskInfo(), ec.TaskInfo(); got != want {
			t.Errorf("%s: event of %v, want %v", name, got, want)
		}
		events = append(events, e)
	}
	return events
}

// states returns the states of the status events.
func states(events []a2a.Event) []a2a.TaskState {
	var states []a2a.TaskState
	for _, e := range events {
		if s, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
			states = append(states, s.Status.State)
		}
	}
	return states
}

// final returns the last event, which must be a status in the given state.
func final(t testing.TB, events []a2a.Event, want a2a.TaskState) *a2a.TaskStatusUpdateEvent {
	t.Helper()
	if len(events) == 0 {
		t.Fatal("no events")
	}
	s, ok := events[len(events)-1].(*a2a.TaskStatusUpdateEvent)
	if !ok || s.Status.State != want {
		t.Fatalf("last event = %+v, want %v", events[len(events)-1], want)
	}
	return s
}

// artifacts returns the artifacts folded as by a hub. It checks the rules of chunks: the first
// one begins an artifact, later ones append, and none follows the last one.
func artifacts(t testing.TB, events []a2a.Event) []*a2a.Artifact {
	t.Helper()
	var all []*a2a.Artifact
	index := map[a2a.ArtifactID]int{}
	sealed := map[a2a.ArtifactID]bool{}
	for _, e := range events {
		u, ok := e.(*a2a.TaskArtifactUpdateEvent)
		if !ok {
			continue
		}
		id := u.Artifact.ID
		i, known := index[id]
		switch {
		case id == "" || len(u.Artifact.Parts) == 0:
			t.Fatalf("artifact without id or parts: %+v", u.Artifact)
		case sealed[id]:
			t.Fatalf("artifact %q continues after its last chunk", id)
		case known != u.Append:
			t.Fatalf("artifact %q: append is %v, want %v", id, u.Append, known)
		case known:
			all[i].Parts = append(all[i].Parts, u.Artifact.Parts...)
		default:
			index[id] = len(all)
			a := *u.Artifact
			a.Parts = append(a2a.ContentParts(nil), a.Parts...)
			all = append(all, &a)
		}
		sealed[id] = u.LastChunk
	}
	for id, last := range sealed {
		if !last {
			t.Errorf("artifact %q has no last chunk", id)
		}
	}
	return all
}

// texts returns the text of each part.
func texts(parts a2a.ContentParts) []string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text())
	}
	return texts
}

func TestAgents(t *testing.T) {
	t.Parallel()
	var names []task.Agent
	for _, a := range builtin.Agents() {
		names = append(names, a.Name)
		traits := agent.TraitsOf(a.Executor)
		if want := a.Name != "interview"; traits.AfterCrash.Repeats(false) != want {
			t.Errorf("%s: AfterCrash is %v, want repeat: %v", a.Name, traits.AfterCrash, want)
		}
		if !traits.NoMessage {
			t.Errorf("%s does not declare that it never answers with a bare message", a.Name)
		}
	}
	want := []task.Agent{"echo", "clock", "interview", "slow", "report"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("Agents mismatch (-want +got):\n%s", diff)
	}
}

func TestCardsAreComplete(t *testing.T) {
	t.Parallel()
	for _, a := range builtin.Agents() {
		c := a.Card
		if c.Name != string(a.Name) || c.Description == "" || c.Version == "" || !c.Capabilities.Streaming {
			t.Errorf("%s: card lacks something: %+v", a.Name, c)
		}
		if len(c.DefaultInputModes) == 0 || len(c.DefaultOutputModes) == 0 {
			t.Errorf("%s: card without modes", a.Name)
		}
		if len(c.Skills) != 1 {
			t.Fatalf("%s: %d skills, want 1", a.Name, len(c.Skills))
		}
		s := c.Skills[0]
		if s.ID != string(a.Name) || s.Name == "" || s.Description == "" || len(s.Tags) == 0 || len(s.Examples) == 0 {
			t.Errorf("%s: skill lacks something: %+v", a.Name, s)
		}
	}
}

func TestCardsBelongToTheCaller(t *testing.T) {
	t.Parallel()
	find(t, "echo").Card.Skills[0].Tags[0] = "changed"
	if got := find(t, "echo").Card.Skills[0].Tags[0]; got != "echo" {
		t.Errorf("tag = %q after another card was changed, want echo", got)
	}
}

// TestAnswerIsInArtifacts checks that an answer is in artifacts alone (specification §3.7).
func TestAnswerIsInArtifacts(t *testing.T) {
	t.Parallel()
	for _, name := range []task.Agent{"echo", "clock", "report", "slow"} {
		events := run(t, name, asking(a2a.NewTextPart("0")))
		if got := states(events)[0]; got != a2a.TaskStateWorking {
			t.Errorf("%s begins with %v, want WORKING", name, got)
		}
		done := final(t, events, a2a.TaskStateCompleted)
		if len(artifacts(t, events)) == 0 {
			t.Errorf("%s made no artifact", name)
		}
		if m := done.Status.Message; m != nil {
			t.Errorf("%s: final message = %+v, want none", name, m)
		}
	}
}

func TestAgentsWithoutMessage(t *testing.T) {
	t.Parallel()
	for _, a := range builtin.Agents() {
		if a.Name == "slow" {
			continue // it would take five seconds; TestSlow covers it
		}
		ec := &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1"}
		events := run(t, a.Name, ec)
		want := a2a.TaskStateCompleted
		if a.Name == "interview" {
			want = a2a.TaskStateRejected
		}
		final(t, events, want)
	}
}

func TestCancelConfirms(t *testing.T) {
	t.Parallel()
	for _, a := range builtin.Agents() {
		ec := &a2asrv.ExecutorContext{TaskID: "task-1", ContextID: "context-1"}
		var events []a2a.Event
		for e, err := range a.Executor.Cancel(t.Context(), ec) {
			if err != nil {
				t.Fatalf("%s: cancel: %v", a.Name, err)
			}
			events = append(events, e)
		}
		if len(events) != 1 {
			t.Errorf("%s: cancel gave %d events, want 1", a.Name, len(events))
		}
		final(t, events, a2a.TaskStateCanceled)
	}
}

// Every agent stops when its consumer stops: yielding after a refusal panics.
func TestConsumerMayStopAnywhere(t *testing.T) {
	t.Parallel()
	for _, a := range builtin.Agents() {
		for stop := 1; ; stop++ {
			n := 0
			for range a.Executor.Execute(t.Context(), asking(a2a.NewTextPart("0 b c"))) {
				if n++; n == stop {
					break
				}
			}
			if n < stop {
				break
			}
		}
	}
}

func TestErrorsNameTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the hub stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var got error
	for _, err := range find(t, "slow").Executor.Execute(ctx, asking(a2a.NewTextPart("60"))) {
		got = err
	}
	if !errors.Is(got, cause) || !errors.Is(got, context.Canceled) || !strings.HasPrefix(got.Error(), "slow: ") {
		t.Errorf("error = %v, want one that wraps %v", got, cause)
	}
}
