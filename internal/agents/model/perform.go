package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// sideBySide is the largest number of concurrent calls.
const sideBySide = 8

// outcome is the outcome of a call: a record for the journal, or an error that ends the
// execution.
type outcome struct {
	record *record
	err    error
}

// job performs a call.
type job func(w *work) outcome

// work holds the contexts and the progress channel of jobs.
type work struct {
	// until ends with ctx, and when the hub drains.
	ctx, until context.Context //nolint:containedctx // it lasts as long as the jobs
	progress   chan<- llm.Progress
}

// report reports the progress of a job to the callers of the task.
func (w *work) report(p llm.Progress) {
	select {
	case w.progress <- p:
	case <-w.ctx.Done():
	}
}

// perform performs the calls that have no result. Calls that change nothing, and those of
// agents, are performed concurrently; the others one after the other.
func (s *session) perform(ctx context.Context, open []*call) error {
	for len(open) > 0 && !s.gone {
		n := 0
		for n < len(open) && n < sideBySide && s.harmless(open[n]) {
			n++
		}
		batch := open[:max(n, 1)]
		open = open[len(batch):]
		if err := s.together(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// The number of times in a row that the model may make the same call with the same result.
// After sameCalls the call is refused, after mostSame the task fails.
const (
	sameCalls = 3
	mostSame  = 5
)

// harmless reports whether a call may be performed concurrently with others.
func (s *session) harmless(c *call) bool {
	if s.tools.delegates[c.Function.Name] != nil {
		return true
	}
	t := s.tools.byName[c.Function.Name]
	return t == nil || t.ReadOnly
}

// together performs calls concurrently, and records the outcome of each one as it arrives.
func (s *session) together(ctx context.Context, batch []*call) error {
	var jobs []job
	for _, c := range batch {
		if c.waits() {
			continue
		}
		job, err := s.prepare(ctx, c)
		if err != nil {
			return err
		}
		if job != nil {
			jobs = append(jobs, job)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if err := agent.CallFrom(ctx).Flush(ctx); err != nil {
		return err
	}
	return s.collect(ctx, jobs)
}

// collect runs jobs concurrently.
func (s *session) collect(ctx context.Context, jobs []job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	until, stop := agent.CallFrom(ctx).UntilDrain(ctx) // shared by all jobs: the last call of UntilDrain applies
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	outcomes, progress := make(chan outcome, len(jobs)), make(chan llm.Progress)
	w := &work{ctx, until, progress}
	for _, job := range jobs {
		wg.Go(func() { outcomes <- job(w) })
	}
	var first error
	for left := len(jobs); left > 0; {
		var o outcome
		select {
		case p := <-progress:
			s.relay(&p)
			continue
		case o = <-outcomes:
			left--
		}
		switch {
		case o.err == nil && first == nil:
			first = s.settle(ctx, o.record)
		case first == nil:
			first = o.err
		}
		if first != nil && !errors.Is(first, errLeft) {
			cancel()
		}
	}
	return first
}

// settle records the outcome of a call.
func (s *session) settle(ctx context.Context, r *record) error {
	if err := s.note(ctx, r); err != nil {
		return err
	}
	if r.Result != nil {
		c := s.t.byKey[r.Result.Key]
		phase := "completed"
		if c.result.Error {
			phase = "failed"
		}
		s.show(c, phase)
		s.fresh[r.Result.Key] = r.Result.Pending != nil && r.Result.Pending.Begun
	}
	if r.Arrived != nil {
		if !r.Arrived.Asks {
			s.endLoop(s.t.byKey[r.Arrived.Key].result.Pending.Task, "")
		}
		if err := s.remember(ctx, r.Arrived); err != nil {
			return err
		}
		return agent.CallFrom(ctx).Flush(ctx) // the next event may be late
	}
	return nil
}

// maxProgress is the largest number of bytes of another agent's status that callers see.
const maxProgress = 4 << 10

// relay passes a status of an agent that works for the model, or of a tool, to callers.
func (s *session) relay(p *llm.Progress) {
	state := a2a.TaskState(p.State)
	if p.Text == "" || state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired {
		return
	}
	text := clip.Bytes(p.Text, maxProgress)
	if p.Agent != "" {
		text = p.Agent + ": " + text
	}
	s.status(a2a.TaskStateWorking, text)
}

// prepare returns the job of a call; nil if it has recorded a result without one.
func (s *session) prepare(ctx context.Context, c *call) (job, error) {
	fail := func(text guard.Text) (job, error) {
		return nil, s.settle(ctx, &record{Result: &result{Key: c.key, Text: text, Error: true}})
	}
	if wrong := badArguments(c.Function.Arguments); wrong != "" {
		return fail(guard.Words("The arguments of %s are not a JSON object (%s). Call it again with a JSON object as its schema says.", s.echo(c.Function.Name), s.echo(wrong)))
	}
	t, d := s.tools.byName[c.Function.Name], s.tools.delegates[c.Function.Name]
	switch {
	case t == nil && d == nil:
		return fail(s.unknown(c.Function.Name))
	case s.t.repeats(c) >= sameCalls:
		return fail(guard.Words("You have made exactly this call %d times in a row, with the same result each time. It will not change: do something else, or answer.", sameCalls))
	case d != nil:
		s.begin(c)
		return func(w *work) outcome { return s.delegate(w.ctx, w.until, c) }, nil
	case c.intent && !t.ReadOnly && !t.Idempotent && !t.Repeatable:
		return fail(guard.Words("The call of %s was cut off, and it is not known whether it has done its work. Find out before you call it again.", t.Name))
	}
	no, err := s.refused(ctx, c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look at a question: %w", err)
	case no != nil:
		return nil, s.settle(ctx, &record{Result: no})
	}
	if !c.intent && !t.ReadOnly {
		if err := s.note(ctx, &record{Intent: &intent{c.key, t.Name}}); err != nil {
			return nil, err
		}
	}
	s.begin(c)
	return func(w *work) outcome { return s.use(w, c, t) }, nil
}

// badArguments returns the reason why arguments are no object; empty if they are one.
func badArguments(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "" // some models write this for {}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return clip.Bytes(err.Error(), 200) + " in " + clip.Bytes(arguments, 200)
	}
	if object == nil {
		return "it is null"
	}
	return ""
}

func (s *session) use(w *work, c *call, t *llm.Tool) outcome {
	ctx, span := c.loop.round(w.ctx)
	defer span.End()
	limited, cancel := context.WithTimeoutCause(ctx, s.budget.ToolTime, errSlow)
	defer cancel()
	arguments := json.RawMessage(c.Function.Arguments)
	if strings.TrimSpace(c.Function.Arguments) == "" {
		arguments = json.RawMessage("{}")
	}
	r, err := t.Call(limited, &llm.Call{
		ID: c.key, Arguments: arguments, Dispatch: s.dispatch(), Room: s.budget.room(), Progress: w.report,
	})
	switch {
	case ctx.Err() != nil:
		return outcome{err: context.Cause(ctx)}
	case errors.Is(context.Cause(limited), errSlow) && err != nil:
		return s.result(c, guard.Words("%s took longer than %v and was given up.", t.Name, s.budget.ToolTime), true)
	case err != nil:
		s.agent.logger().WarnContext(ctx, "tool failed", "tool", t.Name, "task", s.ec.TaskID, "error", err)
		return s.result(c, guard.Words("%s could not be called now. Try something else, or say that it does not work.", t.Name), true)
	}
	o := s.dispatched(s.result(c, s.shown(r), r.Error), r.Pending)
	if r.Question != nil {
		if o.record.Result.Open, err = s.gated(ctx, r.Question.TaskID); err != nil {
			return outcome{err: err}
		}
		if o.record.Result.Open != nil {
			o.record.Result.Text = guard.Join("\n", o.record.Result.Text, guard.Words("["+notAlone+"]"))
		}
	}
	return o
}

var errSlow = errors.New("the tool timed out")

// shown returns the result of a tool in the form for the model.
func (s *session) shown(r *llm.Result) guard.Text {
	words, _ := llm.ToChatText(r.Parts)
	text, g := words.Text(), s.agent.guard()
	if r.Origin == "" {
		return g.Checked("", text)
	}
	origin := guard.Origin(r.Origin)
	if server, ok := strings.CutPrefix(r.Origin, "mcp:"); ok {
		origin = guard.Server(server)
	} else if !strings.Contains(r.Origin, "/") {
		origin = guard.Agent(r.Origin)
	}
	if most := s.budget.room() - labelRoom; len(text) > most {
		return guard.Words("%s\n[The rest was left out: the result has %d bytes, which is too long.]", g.Text(origin, clip.Bytes(text, most)), len(text))
	}
	return g.Text(origin, text)
}

// labelRoom is the room of a result for its label and notes, in bytes.
const labelRoom = 1 << 10

func (s *session) echo(text string) guard.Text { return s.agent.guard().Own("", text) }

// result returns the outcome of a call. It cuts a text that would fill the context.
func (s *session) result(c *call, text guard.Text, failed bool) outcome {
	if short, cut := text.Cut(s.budget.room()); cut {
		text = guard.Words("%s\n[The rest was left out: the result has %d bytes, which is too long.]", short, len(text.String()))
	}
	return outcome{record: &record{Result: &result{Key: c.key, Text: text, Error: failed}}}
}

// room returns the size in bytes of the longest result of a tool: a quarter of a request.
func (b *Budget) room() int { return b.Context * bytesPerToken / 4 }

func (s *session) begin(c *call) { s.show(c, "started") }

// toolCallExtension is the URI of the extension that shows tool calls to callers.
const toolCallExtension = "https://proto-labs.ai/a2a/ext/tool-call-v1"

// show reports a call to callers: in the form of the extension if they have activated it,
// otherwise as a status text.
func (s *session) show(c *call, phase string) {
	if s.call == nil || !slices.Contains(s.call.Extensions, toolCallExtension) {
		if phase == "started" {
			s.status(a2a.TaskStateWorking, "calling "+c.Function.Name)
		}
		return
	}
	frame := map[string]any{"toolCallId": c.ID, "name": c.Function.Name, "phase": phase}
	switch {
	case phase == "started":
		frame["args"] = asJSON(c.Function.Arguments)
	case phase == "failed":
		frame["error"] = c.result.Text.String()
	default:
		frame["result"] = asJSON(c.result.Text.String())
	}
	p := a2a.NewDataPart(frame)
	p.MediaType = "application/json"
	p.Metadata = map[string]any{"mimeType": "application/vnd.protolabs.tool-call-v1+json"}
	ev := a2a.NewArtifactUpdateEvent(s.ec, "tool-calls", p)
	ev.Append = s.shownCalls || s.call.Attempt > 1 || len(s.call.Task) > 0
	s.shownCalls = true
	s.emit(ev, nil)
}

// asJSON returns the value of a JSON text, or the text itself if it is no JSON.
func asJSON(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}
