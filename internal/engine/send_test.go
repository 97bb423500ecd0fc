package engine_test

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

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

func TestSendWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("hello ", "world"))
	got := sdkTask(t, b.send(text("hi")))
	if got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 1 || got.Artifacts[0].Parts[0].Text() != "hello world" {
		t.Fatalf("Send = %+v, want a completed task with one artifact, whose chunks are one part", got)
	}
	if len(got.History) != 1 || got.History[0].TaskID != got.ID || got.History[0].ContextID != got.ContextID {
		t.Errorf("history = %+v, want the caller's message with the ids of its task", got.History)
	}
}

func TestSendReturnsImmediately(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context)
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(began))
	got := b.send(now(text("hi")))
	if got.Head.State.Terminal() {
		t.Fatalf("state = %v, want an open one", got.Head.State)
	}
	<-began
}

func TestSendWaitsAtMostMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(nil)) // 300 s is the default
		began := time.Now()
		got := b.send(text("hi"))
		if got.Head.State != task.Working || time.Since(began) != 300*time.Second {
			t.Errorf("Send = %v after %v, want WORKING after 300 s", got.Head.State, time.Since(began))
		}
		b.stop()
	})
}

func TestBareMessageIsTheAnswerAndNoTask(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("hello")), nil)
	}}
	b := start(t, engine.Config{}, x)
	got := b.send(text("hi"))
	if got.Fold != nil || !strings.Contains(string(got.Message), `"hello"`) || !strings.Contains(string(got.Message), `"contextId"`) {
		t.Fatalf("Send = %+v, message %s; want a bare message with a contextId", got, got.Message)
	}
	page, err := b.List(t.Context(), alice, &op.List{PageSize: 10})
	if err != nil || page.TotalSize != 0 || len(page.Tasks) != 0 {
		t.Errorf("List = %+v, %v; want no tasks", page, err)
	}
	if _, err := b.Get(t.Context(), alice, &op.Get{ID: got.Head.ID}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Get = %v, want ErrTaskNotFound", err)
	}
}

func TestLateMessageCompletesTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			time.Sleep(2 * time.Second)
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("late")), nil)
		}}
		b := start(t, engine.Config{}, x)
		s, err := b.Stream(t.Context(), alice, text("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if s.First == nil || s.First.Fold == nil || s.First.Head.State != task.Submitted {
			t.Fatalf("first frame = %+v, want the submitted task after a second", s.First)
		}
		follow(t, s)
		if got := b.get(s.Task.ID); got.Head.State != task.Completed || statusText(t, got) != "late" {
			t.Errorf("task = %v %q, want COMPLETED with the message", got.Head.State, statusText(t, got))
		}
		b.stop()
	})
}

func TestRefusalIsTheAnswer(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(nil, fmt.Errorf("no images: %w", a2a.ErrUnsupportedContentType))
	}}
	b := start(t, engine.Config{}, x)
	if _, err := b.Send(t.Context(), alice, text("hi")); !errors.Is(err, a2a.ErrUnsupportedContentType) {
		t.Errorf("Send = %v, want ErrUnsupportedContentType", err)
	}
}

func TestFollowUpContinuesTheTask(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which city?"), nil)
			return
		}
		yield(chunk(ec, ec.Message.Parts[0].Text()+" after "+ec.StoredTask.History[0].Parts[0].Text(), false), nil)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, x)
	first := b.send(text("weather"))
	if first.Head.State != task.InputRequired || statusText(t, first) != "which city?" {
		t.Fatalf("first = %v %q, want the question", first.Head.State, statusText(t, first))
	}
	got := sdkTask(t, b.send(reply(first.Head.ID, "Rome")))
	if got.ID != first.Head.ID || got.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("follow-up = %s %v, want the same task completed", got.ID, got.Status.State)
	}
	var history []string
	for _, m := range got.History {
		history = append(history, m.Parts[0].Text())
	}
	if diff := cmp.Diff([]string{"weather", "which city?", "Rome"}, history); diff != "" {
		t.Errorf("history mismatch (-want +got):\n%s", diff)
	}
	if text := got.Artifacts[0].Parts[0].Text(); text != "Rome after weather" {
		t.Errorf("artifact = %q", text)
	}
}

func TestFollowUpErrors(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("x"))
	b.register("other", words("y"))
	done := b.send(text("hi"))
	wrongContext := reply(done.Head.ID, "again")
	wrongContext.Message.ContextID = "another"
	wrongAgent := reply(done.Head.ID, "again")
	wrongAgent.Agent = "other"
	tests := []struct {
		name string
		call *op.Send
		want error
	}{
		{"ended", reply(done.Head.ID, "again"), a2a.ErrUnsupportedOperation},
		{"unknown", reply("nowhere", "again"), a2a.ErrTaskNotFound},
		{"other context", wrongContext, a2a.ErrInvalidParams},
		{"other agent", wrongAgent, a2a.ErrTaskNotFound},
		{"unknown agent", &op.Send{Target: op.Target{Agent: "unknown"}, Message: text("x").Message}, a2a.ErrTaskNotFound},
		{"path against tenant", &op.Send{Target: op.Target{Agent: "main", Tenant: "other"}, Message: text("x").Message}, a2a.ErrInvalidParams},
		{"push", &op.Send{Message: text("x").Message, Push: &op.PushConfig{URL: "https://example.com"}}, a2a.ErrPushNotificationNotSupported},
	}
	for _, tt := range tests {
		if _, err := b.Send(t.Context(), alice, tt.call); !errors.Is(err, tt.want) {
			t.Errorf("%s: Send = %v, want %v", tt.name, err, tt.want)
		}
	}
	if page, _ := b.List(t.Context(), alice, &op.List{PageSize: 10}); page.TotalSize != 1 {
		t.Errorf("tasks = %d, want 1: a refused message stores nothing", page.TotalSize)
	}
}

func TestMessagesToARunningTaskAreReadInOrder(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	proceed := make(chan struct{})
	var received []string
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		received = append(received, ec.Message.Parts[0].Text())
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			close(began)
			<-proceed
		}
		if len(received) == 3 {
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
			return
		}
		yield(status(ec, a2a.TaskStateInputRequired, "more"), nil)
	}}
	b := start(t, engine.Config{}, x)
	id := b.send(now(text("one"))).Head.ID
	<-began
	b.send(now(reply(id, "two")))
	b.send(now(reply(id, "three")))
	close(proceed)
	b.wait(id, task.Completed)
	if diff := cmp.Diff([]string{"one", "two", "three"}, received); diff != "" {
		t.Errorf("messages mismatch (-want +got):\n%s", diff)
	}
}

// The events of the agent between the messages do not count.
func TestUnreadMessagesAreBounded(t *testing.T) {
	t.Parallel()
	began := make(chan bool)
	b := start(t, engine.Config{Limits: limits.Limits{MaxWaiting: 2, DrainTimeout: -1}}, &executor{
		run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			for range 9 {
				if !yield(chunk(ec, "x", true), nil) {
					return
				}
			}
			if agent.CallFrom(ctx).Flush(ctx) == nil {
				close(began)
			}
			<-ctx.Done()
		},
	})
	id := b.send(now(text("one"))).Head.ID
	<-began
	b.send(now(reply(id, "two")))
	b.send(now(reply(id, "three")))
	_, err := b.Send(t.Context(), alice, now(reply(id, "four")))
	var public *apierror.Error
	if !errors.Is(err, apierror.ErrExhausted) || !errors.As(err, &public) || public.RetryAfter <= 0 {
		t.Errorf("a third unread message: %v, want ErrExhausted with RetryAfter", err)
	}
}

func TestUnreadMessageIsRefusedAndMarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			<-proceed
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}}
		b := start(t, engine.Config{}, x)
		id := b.send(now(text("one"))).Head.ID
		errs := make(chan error, 1)
		go func() {
			_, err := b.Send(t.Context(), alice, reply(id, "late"))
			errs <- err
		}()
		synctest.Wait()
		close(proceed)
		if err := <-errs; !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("Send = %v, want ErrUnsupportedOperation", err)
		}
		history := sdkTask(t, b.get(id)).History
		if len(history) != 2 || history[1].Metadata["parley.undelivered"] != true {
			t.Errorf("history = %+v, want the second message marked as undelivered", history)
		}
		b.stop()
	})
}

func TestEndOfARun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool)
		want task.State
		text string
	}{
		{"no final state", func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
		}, task.Failed, "agent ended without a final state"},
		{"nothing at all", func(*a2asrv.ExecutorContext, func(a2a.Event, error) bool) {}, task.Failed, "agent ended without a final state"},
		{"public error", func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			yield(nil, a2a.NewError(a2a.ErrInternalError, "the model is overloaded"))
		}, task.Failed, "the model is overloaded"},
		{"submitted task first", func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewSubmittedTask(ec, ec.Message), nil)
			yield(status(ec, a2a.TaskStateRejected, "no"), nil)
		}, task.Rejected, "no"},
		{"whole task", func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(&a2a.Task{ID: ec.TaskID, ContextID: ec.ContextID, Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}, nil)
		}, task.Completed, ""},
		{"auth required, then on its own", func(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(status(ec, a2a.TaskStateAuthRequired, "log in"), nil)
			yield(status(ec, a2a.TaskStateWorking, ""), nil)
			yield(status(ec, a2a.TaskStateCompleted, "thanks"), nil)
		}, task.Completed, "thanks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, engine.Config{}, &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				tt.run(ec, yield)
			}})
			s, err := b.Stream(t.Context(), alice, text("hi"))
			if err != nil {
				t.Fatal(err)
			}
			follow(t, s)
			if got := b.get(s.Task.ID); got.Head.State != tt.want || statusText(t, got) != tt.text {
				t.Errorf("task = %v %q, want %v %q", got.Head.State, statusText(t, got), tt.want, tt.text)
			}
		})
	}
}

func TestInternalErrorsAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "dial postgres://user:pw@db"
	for name, run := range map[string]func(yield func(a2a.Event, error) bool){
		"panic": func(func(a2a.Event, error) bool) { panic(secret) },
		"error": func(yield func(a2a.Event, error) bool) { yield(nil, errors.New(secret)) },
		"illegal": func(yield func(a2a.Event, error) bool) {
			yield(&a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: secret}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, engine.Config{}, &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) { run(yield) }})
			got := b.send(text("hi"))
			if text := statusText(t, got); got.Head.State != task.Failed || strings.Contains(text, "postgres") || !strings.Contains(text, "reference") {
				t.Errorf("task = %v %q, want FAILED with nothing but a reference", got.Head.State, text)
			}
		})
	}
}

func TestArtifactAfterItsLastChunkFailsTheTask(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(chunk(ec, "a", false), nil)
		yield(chunk(ec, "b", false), nil)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, x)
	got := b.send(text("hi"))
	if got.Head.State != task.Failed || len(sdkTask(t, got).Artifacts[0].Parts) != 1 {
		t.Errorf("task = %v with %+v, want FAILED with the first chunk kept", got.Head.State, sdkTask(t, got).Artifacts)
	}
}

func TestSilentAgentFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan error, 1)
		x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			for range 3 {
				yield(status(ec, a2a.TaskStateWorking, ""), nil)
				time.Sleep(40 * time.Second)
			}
			<-ctx.Done()
			stopped <- context.Cause(ctx)
		}}
		b := start(t, engine.Config{Limits: limits.Limits{AgentSilence: time.Minute}}, x)
		began := time.Now()
		got := b.send(text("hi"))
		if got.Head.State != task.Failed || !strings.Contains(statusText(t, got), "silent for 1m0s") {
			t.Errorf("task = %v %q, want FAILED for silence", got.Head.State, statusText(t, got))
		}
		if took := time.Since(began); took != 140*time.Second {
			t.Errorf("failed after %v, want a minute after the last word", took)
		}
		if cause := <-stopped; !strings.Contains(cause.Error(), "silent") {
			t.Errorf("cause = %v", cause)
		}
		b.stop()
	})
}

// TestEndlessOutput: an agent that never ends fails its task, and its context ends. A second run of the
// task may yield as much again.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	stopped := make(chan error, 1)
	b := start(t, engine.Config{Limits: limits.Limits{MaxOutput: limit}}, &executor{
		run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			some := strings.Repeat("x", 1<<10)
			if ec.Message.Parts[0].Text() != "for ever" {
				for range limit / 2 >> 10 {
					yield(chunk(ec, some, true), nil)
				}
				yield(status(ec, a2a.TaskStateInputRequired, "more?"), nil)
				return
			}
			for yield(chunk(ec, some, true), nil) {
			}
			stopped <- context.Cause(ctx)
		},
	})
	got := b.send(text("a little"))
	if got.Head.State != task.InputRequired {
		t.Fatalf("task = %v %q, want INPUT_REQUIRED", got.Head.State, statusText(t, got))
	}
	got = b.send(reply(got.Head.ID, "for ever"))
	if want := "sent more than 65536 bytes"; got.Head.State != task.Failed || !strings.Contains(statusText(t, got), want) {
		t.Errorf("task = %v %q, want FAILED: %s", got.Head.State, statusText(t, got), want)
	}
	if cause := <-stopped; !strings.Contains(cause.Error(), "sent more than") {
		t.Errorf("cause = %v, want the limit", cause)
	}
	size := 0
	for _, p := range sdkTask(t, got).Artifacts[0].Parts {
		size += len(p.Text())
	}
	if size < limit || size > limit+limit/2 {
		t.Errorf("the artifact has %d bytes, want those of both runs: more than %d, at most %d", size, limit, limit+limit/2)
	}
}

func TestCallReachesTheExecutor(t *testing.T) {
	t.Parallel()
	var got agent.Call
	var tenant, user, header string
	var meta any
	x := &executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		got = *agent.CallFrom(ctx)
		tenant, user, meta = ec.Tenant, ec.User.Name, ec.Metadata["k"]
		if v, ok := ec.ServiceParams.Get("traceparent"); ok {
			header = v[0]
		}
		yield(chunk(ec, "a", true), nil)
		if err := agent.CallFrom(ctx).Flush(ctx); err != nil {
			yield(nil, err)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, x)
	c := caller("bob")
	c.Params = map[string][]string{"traceparent": {"00-1"}}
	c.Extensions = []string{"urn:x"}
	r := text("hi")
	r.Tenant, r.Metadata, r.Message.Skill = "main", []byte(`{"k":"v"}`), "MAIN"
	r.AcceptedOutputModes = []string{"image/png"}
	if _, err := b.Send(t.Context(), c, r); err != nil {
		t.Fatal(err)
	}
	if got.Attempt != 1 || got.Agent != "main" || got.Skill != "MAIN" || !strings.Contains(string(got.Message), `"taskId"`) || len(got.Extensions) != 0 {
		t.Errorf("call = %+v", got)
	}
	if diff := cmp.Diff(r.AcceptedOutputModes, got.AcceptedOutputModes); diff != "" {
		t.Errorf("accepted output modes (-want +got):\n%s", diff)
	}
	if tenant != "main" || user != "bob" || meta != "v" || header != "00-1" {
		t.Errorf("context = tenant %q user %q metadata %v header %q", tenant, user, meta, header)
	}
}

func TestCallersSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context, 1)
	b := start(t, engine.Config{Limits: limits.Limits{DrainTimeout: -1}}, untilStopped(began))
	id := b.send(now(text("hi"))).Head.ID
	<-began
	bob := caller("bob")
	for _, id := range []a2a.TaskID{id, "nowhere"} {
		_, errGet := b.Get(t.Context(), bob, &op.Get{ID: id})
		_, errCancel := b.Cancel(t.Context(), bob, &op.Cancel{ID: id})
		_, errSub := b.Subscribe(t.Context(), bob, &op.Subscribe{ID: id, LastEventID: "1"})
		_, errSend := b.Send(t.Context(), bob, reply(id, "x"))
		for name, err := range map[string]error{"get": errGet, "cancel": errCancel, "subscribe": errSub, "send": errSend} {
			if !errors.Is(err, a2a.ErrTaskNotFound) || err.Error() != "Task not found" {
				t.Errorf("%s of %s by another caller = %v, want the answer for a missing task", name, id, err)
			}
		}
	}
	if page, err := b.List(t.Context(), bob, &op.List{PageSize: 10}); err != nil || page.TotalSize != 0 {
		t.Errorf("List = %+v, %v; want nothing", page, err)
	}
	mine := text("mine")
	mine.Message.TaskID, mine.NewIDs = id, true
	a, err := b.Send(t.Context(), bob, now(mine))
	if err != nil || a.Head.ID != id {
		t.Fatalf("Send with the id of another caller's task = %+v, %v; want a task of bob's own", a, err)
	}
	<-began
	if got := b.get(id); got.Head.Owner != "alice" {
		t.Errorf("alice's task has owner %q", got.Head.Owner)
	}
}

func TestClosingChunkMayBeEmpty(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(chunk(ec, "all of it", true), nil)
		last := a2a.NewArtifactUpdateEvent(ec, "answer")
		last.LastChunk = true
		yield(last, nil)
		yield(status(ec, a2a.TaskStateCompleted, ""), nil)
	}}
	b := start(t, engine.Config{}, x)
	got := sdkTask(t, b.send(text("hi")))
	if got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 1 {
		t.Errorf("task = %v with %+v, want the one chunk that had content", got.Status.State, got.Artifacts)
	}
}
