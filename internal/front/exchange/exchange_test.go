package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/exchange"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(a2a.Event, error) bool

// start runs an engine with one agent; stop ends it.
func start(t *testing.T, run agent.Func) (e *engine.Engine, stop func()) {
	t.Helper()
	cfg := engine.Config{Store: new(memstore.Store), Limits: limits.Limits{DrainTimeout: time.Nanosecond}}
	return enginetest.Start(t, cfg, enginetest.Agent("agent", run))
}

func caller() *op.Caller { return &op.Caller{Principal: &auth.Principal{ID: "ann"}} }

func begin(t *testing.T, e *engine.Engine, message string) *exchange.Exchange {
	t.Helper()
	var d dialect.Decoder
	r, err := d.SendAt([]byte(`{"message":{"messageId":"m","role":"ROLE_USER",` + message + `"parts":[{"text":"hi"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	tn, err := exchange.Begin(t.Context(), e, caller(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tn.Close)
	return tn
}

// eventLines returns the events of a turn in one line each.
func eventLines(t *testing.T, tn *exchange.Exchange) (lines []string) {
	t.Helper()
	kinds := []string{"idle", "text", "part", "status", "end"}
	for ev, err := range tn.Events(t.Context(), 0) {
		if err != nil {
			lines = append(lines, "error: "+err.Error())
			continue
		}
		line := fmt.Sprintf("%s %s %q", kinds[ev.Kind], ev.Artifact, ev.Text)
		switch {
		case ev.Anew:
			line += " anew"
		case ev.Part != nil:
			line += " " + string(ev.Part)
		case ev.State != 0:
			line += fmt.Sprintf(" %v said=%t", ev.State, ev.Said)
		}
		lines = append(lines, line)
	}
	return lines
}

func status(x *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	if text == "" {
		return a2a.NewStatusUpdateEvent(x, s, nil)
	}
	return a2a.NewStatusUpdateEvent(x, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

func artifact(x *a2asrv.ExecutorContext, id a2a.ArtifactID, appended bool, parts ...*a2a.Part) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(x, id, parts...)
	ev.Append = appended
	return ev
}

func text(s string) *a2a.Part { return a2a.NewTextPart(s) }

func TestEvents(t *testing.T) {
	t.Parallel()
	e, _ := start(t, func(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
		cost := a2a.NewDataPart(map[string]any{"a": 1})
		cost.Metadata = map[string]any{"mimeType": "application/vnd.protolabs.cost-v1+json"}
		yield(status(x, a2a.TaskStateWorking, "thinking"), nil)
		yield(artifact(x, "a", false, text("one two ")), nil)
		yield(artifact(x, "b", false, text("other")), nil)
		yield(artifact(x, "a", true, text("three")), nil)
		yield(artifact(x, "a", false, text("one two "), text("three")), nil) // its chunks: nothing new
		yield(artifact(x, "a", false, text("one two three four")), nil)
		yield(artifact(x, "a", false, text("none")), nil)
		yield(artifact(x, "a", true, text("!")), nil)
		yield(artifact(x, "a", false, text("none! but")), nil)
		yield(artifact(x, "c", false, cost, a2a.NewDataPart([]any{1})), nil)
		yield(artifact(x, "d", false, text("up"), text("down")), nil)
		yield(artifact(x, "d", false, text("up"), text("down"), text("left")), nil)
		yield(status(x, a2a.TaskStateCompleted, "done"), nil)
	})
	tn := begin(t, e, "")
	want := []string{
		`status  "thinking" TASK_STATE_WORKING said=false`,
		`text a "one two "`, `text b "other"`, `text a "three"`, `text a " four"`, `text a "none" anew`, `text a "!"`, `text a " but"`,
		`part c "" {"data":{"a":1},"metadata":{"mimeType":"application/vnd.protolabs.cost-v1+json"}}`, `part c "" {"data":[1]}`,
		"text d \"up\\ndown\"", "text d \"\\nleft\"",
		`end  "done" TASK_STATE_COMPLETED said=true`,
	}
	if diff := cmp.Diff(want, eventLines(t, tn)); diff != "" {
		t.Errorf("events mismatch (-want +got):\n%s", diff)
	}
}

// TestTurns checks that a turn ends when its task waits, and that the next one starts after its
// own message.
func TestTurns(t *testing.T) {
	t.Parallel()
	e, _ := start(t, func(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
		if x.StoredTask == nil {
			yield(artifact(x, "a", false, text("first")), nil)
			yield(status(x, a2a.TaskStateInputRequired, "what?"), nil)
			return
		}
		yield(artifact(x, "a", false, text("second")), nil)
		yield(status(x, a2a.TaskStateAuthRequired, "may I?"), nil)
	})
	first := begin(t, e, "")
	if diff := cmp.Diff([]string{`text a "first"`, `end  "what?" TASK_STATE_INPUT_REQUIRED said=true`}, eventLines(t, first)); diff != "" {
		t.Errorf("first turn mismatch (-want +got):\n%s", diff)
	}
	second := begin(t, e, `"taskId":"`+string(first.Task.ID)+`",`)
	if diff := cmp.Diff([]string{`text a "second"`, `end  "may I?" TASK_STATE_AUTH_REQUIRED said=true`}, eventLines(t, second)); diff != "" {
		t.Errorf("second turn mismatch (-want +got):\n%s", diff)
	}
}

// TestRepeats checks that a question is marked as a repetition if and only if it is in an
// artifact as well.
func TestRepeats(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("?", 70_000)
	tests := []struct {
		name  string
		sent  []a2a.ArtifactID
		texts []string
		asked string
		want  bool
	}{
		{"the same", []a2a.ArtifactID{"a"}, []string{"which?\n"}, "which?", true},
		{"in chunks", []a2a.ArtifactID{"a", "a"}, []string{"whi", "ch?"}, " which? ", true},
		{"after another one", []a2a.ArtifactID{"a", "b"}, []string{"draft", "which?"}, "which?", true},
		{"before another one", []a2a.ArtifactID{"a", "b"}, []string{"which?", "draft"}, "which?", false},
		{"with more", []a2a.ArtifactID{"a"}, []string{"red or blue: which?"}, "which?", false},
		{"no question", []a2a.ArtifactID{"a"}, []string{"which?"}, "", false},
		{"nothing said", nil, nil, "which?", false},
		{"very long", []a2a.ArtifactID{"a", "a"}, []string{long, "?"}, long + "?", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, _ := start(t, func(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
				for i, id := range tt.sent {
					yield(artifact(x, id, i > 0 && tt.sent[i-1] == id, text(tt.texts[i])), nil)
				}
				yield(status(x, a2a.TaskStateInputRequired, tt.asked), nil)
			})
			for ev, err := range begin(t, e, "").Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if want := tt.want && ev.Kind == exchange.End; ev.Repeats != want {
					t.Errorf("event %+v has Repeats %t, want %t", ev, ev.Repeats, want)
				}
			}
		})
	}
}

func TestBareMessage(t *testing.T) {
	t.Parallel()
	e, _ := start(t, func(_ context.Context, _ *a2asrv.ExecutorContext, yield yielder) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, text("bare")), nil)
	})
	events := eventLines(t, begin(t, e, ""))
	if len(events) != 2 || !strings.HasSuffix(events[0], `"bare"`) || events[1] != `end  "bare" TASK_STATE_COMPLETED said=true` {
		t.Errorf("events are %q, want the text and the end", events)
	}
}

// TestNoReply checks that the end of an agent that completes without output has a text, and
// that of a failed one has none.
func TestNoReply(t *testing.T) {
	t.Parallel()
	for state, want := range map[a2a.TaskState]string{
		a2a.TaskStateCompleted: `end  "agent: completed" TASK_STATE_COMPLETED said=false`,
		a2a.TaskStateFailed:    `end  "" TASK_STATE_FAILED said=false`,
	} {
		e, _ := start(t, func(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
			yield(status(x, state, ""), nil)
		})
		if diff := cmp.Diff([]string{want}, eventLines(t, begin(t, e, ""))); diff != "" {
			t.Errorf("events mismatch (-want +got):\n%s", diff)
		}
	}
}

// TestSilenceAndStop checks that a stopping hub ends the turn with an error, and that silence
// is reported.
func TestSilenceAndStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, stop := start(t, agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield yielder) {
			yield(status(x, a2a.TaskStateWorking, ""), nil)
			<-ctx.Done()
		}))
		tn := begin(t, e, "")
		idle := 0
		for ev, err := range tn.Events(t.Context(), time.Minute) {
			if err != nil {
				if !errors.Is(err, apierror.ErrUnavailable) {
					t.Errorf("error is %v", err)
				}
				break
			}
			if ev.Kind == exchange.Idle {
				if idle++; idle == 2 {
					go stop()
				}
			}
		}
		if idle < 2 {
			t.Errorf("%d events of silence", idle)
		}
		tn.Close()
		stop()
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	e, _ := start(t, func(context.Context, *a2asrv.ExecutorContext, yielder) {})
	_, err := exchange.Begin(t.Context(), e, caller(), &op.Send{Message: op.Message{TaskID: "no", Body: []byte(`{"parts":[]}`)}})
	if !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("error is %v", err)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	part := []byte(`{"data":{"a":1},"metadata":{"mimeType":"application/vnd.protolabs.tool-call-v1+json"}}`)
	if !exchange.Extension(part) || string(exchange.ExtensionOf(part, "tool-call-v1")) != `{"a":1}` || exchange.ExtensionOf(part, "cost-v1") != nil {
		t.Error("the part is not known by its media type")
	}
	if exchange.Extension([]byte(`{"text":"a"}`)) {
		t.Error("a text is taken for an extension")
	}
}
