package serve

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// The instructions to the agent: the text of a message begins with one of these words.
const (
	// Say answers with one artifact that contains the rest of the text.
	Say = "say"
	// Chunks answers with the number of chunks in the rest of the text.
	Chunks = "chunks"
	// Hold reports that it works, waits until it is released, and continues like Chunks.
	Hold = "hold"
	// Ask requires input.
	Ask = "ask"
)

// ChunkText is the text of a chunk: 64 bytes.
const ChunkText = "sixty-four bytes of text are about what a model says in a second"

// Text returns the text of a message with an instruction.
func Text(what, rest string) string { return what + " " + rest }

// gate blocks the runs of Hold until they are released.
type gate struct {
	// always lets every run pass.
	always bool

	mu   sync.Mutex // guards the fields below
	open chan struct{}
	held int
	more chan struct{} // closed when held grows
}

func newGate(always bool) *gate {
	return &gate{always: always, open: make(chan struct{}), more: make(chan struct{})}
}

// release lets the waiting runs continue; later ones wait again.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
	g.open = make(chan struct{})
	g.held = 0
}

// wait waits until the gate is released or ctx ends; it reports whether the run may continue.
func (g *gate) wait(ctx context.Context) bool {
	if g.always {
		return true
	}
	g.mu.Lock()
	g.held++
	close(g.more)
	g.more = make(chan struct{})
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return true
	case <-ctx.Done():
		return false
	}
}

// await waits until n runs wait at the gate.
func (g *gate) await(ctx context.Context, n int) error {
	for {
		g.mu.Lock()
		held, more := g.held, g.more
		g.mu.Unlock()
		if held >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// executor is the agent, written for the Go SDK.
type executor struct{ gate *gate }

func (e executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		w := writer{ec: ec, yield: yield}
		if ec.StoredTask == nil && !w.write(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		if w.status(a2a.TaskStateWorking) {
			e.perform(ctx, &w)
		}
	}
}

// Cancel confirms a cancellation.
func (executor) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

func (e executor) perform(ctx context.Context, w *writer) {
	what, rest, _ := strings.Cut(textOf(w.ec.Message), " ")
	switch what {
	case Say:
		_ = w.artifact(rest) && w.status(a2a.TaskStateCompleted)
	case Chunks:
		w.chunks(rest)
	case Hold:
		if agent.CallFrom(ctx).Flush(ctx) == nil && e.gate.wait(ctx) {
			w.chunks(rest)
		}
	case Ask:
		w.status(a2a.TaskStateInputRequired)
	default:
		w.status(a2a.TaskStateRejected)
	}
}

func textOf(m *a2a.Message) string {
	if m == nil || len(m.Parts) == 0 {
		return ""
	}
	t, _ := m.Parts[0].Content.(a2a.Text)
	return string(t)
}

// writer yields the events of one run.
type writer struct {
	ec    *a2asrv.ExecutorContext
	yield func(a2a.Event, error) bool
}

func (w *writer) write(ev a2a.Event) bool { return w.yield(ev, nil) }

func (w *writer) status(s a2a.TaskState) bool {
	return w.write(a2a.NewStatusUpdateEvent(w.ec, s, nil))
}

// artifactID is the id of the agent's only artifact.
const artifactID a2a.ArtifactID = "answer"

func (w *writer) artifact(text string) bool {
	ev := a2a.NewArtifactUpdateEvent(w.ec, artifactID, a2a.NewTextPart(text))
	ev.Append, ev.LastChunk = false, true
	return w.write(ev)
}

// chunks writes n chunks of one artifact, n being a decimal number, and completes.
func (w *writer) chunks(n string) {
	count, err := strconv.Atoi(n)
	if err != nil {
		w.status(a2a.TaskStateRejected)
		return
	}
	for i := range count {
		ev := a2a.NewArtifactUpdateEvent(w.ec, artifactID, a2a.NewTextPart(ChunkText))
		ev.Append, ev.LastChunk = i > 0, i == count-1
		if !w.write(ev) {
			return
		}
	}
	w.status(a2a.TaskStateCompleted)
}
