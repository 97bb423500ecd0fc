package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// everything lists all extensions of these tests, in the order of the callers here.
var everything = []string{alien, inner, cite, geo}

// activeIn returns the extensions of everything that are active in an answer of strict.
func (b *bench) activeIn(confirmed *engine.Confirmation) []string {
	return b.ActiveIn("strict", everything, confirmed)
}

// declaring starts an engine with the agent strict, whose card declares everything but alien,
// and with the given time for a first event.
func declaring(t *testing.T, first time.Duration, x a2asrv.AgentExecutor) *bench {
	t.Helper()
	b := start(t, engine.Config{Limits: limits.Limits{FirstEvent: first}}, words("hi"))
	card := &a2a.AgentCard{Name: "strict", Skills: []a2a.AgentSkill{{ID: "strict"}}}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: inner}, {URI: cite}, {URI: geo}}
	if err := b.Register(engine.Agent{Name: "strict", Card: card, Executor: x}); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConfirm: if an agent confirms extensions, these are active in the answer to that message;
// otherwise those of its card are.
func TestConfirm(t *testing.T) {
	t.Parallel()
	declared := []string{inner, cite, geo}
	for name, tt := range map[string]struct {
		confirms [][]string
		bare     bool
		want     []string
	}{
		"nothing confirmed": {want: declared},
		"one":               {confirms: [][]string{{cite}}, want: []string{cite}},
		"none":              {confirms: [][]string{nil}},
		"not declared":      {confirms: [][]string{{geo, alien}}, want: []string{alien, geo}},
		"not named":         {confirms: [][]string{{"urn:x:other", geo}}, want: []string{geo}},
		"another time":      {confirms: [][]string{{cite}, {geo}}, want: []string{geo}},
		"a bare message":    {confirms: [][]string{{cite}}, bare: true, want: []string{cite}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := strict(t, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				for _, uris := range tt.confirms {
					agent.CallFrom(ctx).Confirm(uris)
				}
				if tt.bare {
					yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hi")), nil)
					return
				}
				yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
			}})
			c := naming(everything...)
			a, err := b.Send(t.Context(), c, to("strict", text("a")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.activeIn(a.Confirmed)); diff != "" {
				t.Errorf("extensions of the answer mismatch (-want +got):\n%s", diff)
			}
			if tt.bare {
				return
			}
			shown, err := b.Get(t.Context(), c, &op.Get{ID: a.Head.ID})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(declared, b.activeIn(shown.Confirmed)); diff != "" {
				t.Errorf("extensions of a later look mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfirmOfEachMessage: a confirmation belongs to one message of a task.
func TestConfirmOfEachMessage(t *testing.T) {
	t.Parallel()
	b := declaring(t, time.Hour, &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		switch agent.Text(ec.Message) {
		case "one":
			agent.CallFrom(ctx).Confirm([]string{cite})
		case "three":
			agent.CallFrom(ctx).Confirm(nil)
		}
		yield(status(ec, a2a.TaskStateInputRequired, "more?"), nil)
	}})
	// A reader keeps the task, and its earlier confirmation, in memory.
	first, err := b.Stream(t.Context(), naming(everything...), to("strict", text("one")))
	if err != nil {
		t.Fatal(err)
	}
	id := first.Task.ID
	if reader, err := b.Subscribe(t.Context(), naming(geo), &op.Subscribe{ID: id}); err == nil {
		defer reader.Close()
	} else {
		t.Error(err)
	}
	follow(t, first)
	if diff := cmp.Diff([]string{cite}, b.activeIn(first.Confirmed)); diff != "" {
		t.Errorf("extensions of the stream mismatch (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		text string
		want []string
	}{{"two", []string{inner, cite, geo}}, {"three", nil}} {
		a, err := b.Send(t.Context(), naming(everything...), reply(id, tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.activeIn(a.Confirmed)); diff != "" {
			t.Errorf("extensions of message %s mismatch (-want +got):\n%s", tt.text, diff)
		}
	}
}

// confirming returns INPUT_REQUIRED at once, and confirms cite for a further message after may
// is closed.
func confirming(may <-chan struct{}) a2asrv.AgentExecutor {
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		select {
		case <-may:
		case <-ctx.Done():
			return
		}
		agent.CallFrom(ctx).Confirm([]string{cite})
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}}
	return confirmer{x}
}

// confirmer is an executor that confirms extensions itself.
type confirmer struct{ *executor }

// ConfirmsExtensions implements agent.Confirming.
func (confirmer) ConfirmsExtensions() bool { return true }

// TestStreamAwaitsConfirm: if a caller names extensions, its stream begins after the agent has
// confirmed them, or after FirstEvent. Any other stream begins at once.
func TestStreamAwaitsConfirm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		caller *op.Caller
		first  time.Duration
		late   bool // the agent confirms after the stream has begun
		want   []string
	}{
		"confirmed":     {naming(everything...), time.Hour, false, []string{cite}},
		"too late":      {naming(everything...), 10 * time.Millisecond, true, []string{inner, cite, geo}},
		"nothing named": {naming(), time.Hour, true, []string{inner, cite, geo}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			may := make(chan struct{})
			b := declaring(t, tt.first, confirming(may))
			asked := b.send(to("strict", text("a")))
			if asked.Head.State != task.InputRequired {
				t.Fatalf("the task is %v", asked.Head.State)
			}
			if !tt.late {
				close(may)
			}
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			s, err := b.Stream(ctx, tt.caller, reply(asked.Head.ID, "b"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.late {
				close(may)
			}
			if diff := cmp.Diff(tt.want, b.activeIn(s.Confirmed)); diff != "" {
				t.Errorf("extensions of the stream mismatch (-want +got):\n%s", diff)
			}
			follow(t, s)
		})
	}
}
