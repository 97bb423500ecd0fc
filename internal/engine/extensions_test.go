package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

const (
	geo   = "https://example.com/ext/geo/v1"
	cite  = "https://example.com/ext/cite/v1"
	inner = "https://example.com/ext/inner/v1"
	alien = "https://example.com/ext/alien/v1"
)

// naming returns alice as a caller that names extensions.
func naming(uris ...string) *op.Caller {
	return &op.Caller{Principal: &auth.Principal{ID: "alice"}, Extensions: uris}
}

// strict starts an engine with the agent main, which requires no extension, and strict, whose
// card requires geo and declares cite. The extended card of strict declares inner, too.
func strict(t *testing.T, x a2asrv.AgentExecutor) *bench {
	t.Helper()
	b := start(t, engine.Config{Push: new(enginetest.Pusher)}, words("hi"))
	card := &a2a.AgentCard{Name: "strict", Skills: []a2a.AgentSkill{{ID: "strict"}}}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: geo, Required: true}, {URI: cite}}
	more := &a2a.AgentCard{Name: "strict", Skills: card.Skills}
	more.Capabilities.Extensions = []a2a.AgentExtension{{URI: cite}, {URI: inner, Required: true}}
	if err := b.Register(engine.Agent{Name: "strict", Card: card, Extended: more, Executor: x}); err != nil {
		t.Fatal(err)
	}
	return b
}

func to(name string, r *op.Send) *op.Send {
	r.Tenant = name
	return r
}

// Every operation on an agent, or on its tasks, needs the extensions that the agent requires.
// Tasks and agents that do not exist are not found, with or without them.
func TestRequiredExtensions(t *testing.T) {
	t.Parallel()
	ask := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
	}}
	b := strict(t, ask)
	ctx := t.Context()
	made, err := b.Send(ctx, naming(geo), to("strict", text("a")))
	if err != nil {
		t.Fatalf("Send with the required extension: %v", err)
	}
	id := made.Head.ID
	config := func(id a2a.TaskID) *op.PushConfig { return &op.PushConfig{TaskID: id, ID: "p", URL: "https://x"} }
	calls := map[string]func(c *op.Caller, id a2a.TaskID) error{
		"SendMessage to the task": func(c *op.Caller, id a2a.TaskID) error {
			_, err := b.Send(ctx, c, reply(id, "b"))
			return err
		},
		"GetTask": func(c *op.Caller, id a2a.TaskID) error {
			_, err := b.Get(ctx, c, &op.Get{ID: id})
			return err
		},
		"SubscribeToTask": func(c *op.Caller, id a2a.TaskID) error {
			s, err := b.Subscribe(ctx, c, &op.Subscribe{ID: id})
			if err == nil {
				s.Close()
			}
			return err
		},
		"CreatePush": func(c *op.Caller, id a2a.TaskID) error {
			_, err := b.CreatePush(ctx, c, config(id))
			return err
		},
		"GetPush": func(c *op.Caller, id a2a.TaskID) error {
			_, err := b.GetPush(ctx, c, &op.PushRef{TaskID: id, ID: "p"})
			return err
		},
		"ListPush": func(c *op.Caller, id a2a.TaskID) error {
			_, err := b.ListPush(ctx, c, &op.PushList{TaskID: id})
			return err
		},
		"DeletePush": func(c *op.Caller, id a2a.TaskID) error {
			return b.DeletePush(ctx, c, &op.PushRef{TaskID: id, ID: "p"})
		},
	}
	order := []string{
		"SendMessage to the task", "GetTask", "SubscribeToTask", "CreatePush", "GetPush", "ListPush", "DeletePush",
	}
	for _, name := range order {
		for _, c := range []*op.Caller{naming(), naming(cite, inner, "https://example.com/ext/geo/v2")} {
			if err := calls[name](c, id); !errors.Is(err, a2a.ErrExtensionSupportRequired) {
				t.Errorf("%s naming %v = %v, want ErrExtensionSupportRequired", name, c.Extensions, err)
			}
			if err := calls[name](c, "missing"); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s of a missing task = %v, want ErrTaskNotFound", name, err)
			}
		}
		if err := calls[name](naming(alien, geo), id); err != nil {
			t.Errorf("%s naming the required extension = %v", name, err)
		}
	}
	if _, err := b.Cancel(ctx, naming(), &op.Cancel{ID: id}); !errors.Is(err, a2a.ErrExtensionSupportRequired) {
		t.Errorf("Cancel = %v, want ErrExtensionSupportRequired", err)
	}
	if _, err := b.Cancel(ctx, naming(geo), &op.Cancel{ID: id}); err != nil {
		t.Errorf("Cancel naming the required extension = %v", err)
	}
}

// A refused message creates no task, and the error lists the missing extensions.
func TestRefusedForExtensions(t *testing.T) {
	t.Parallel()
	b := strict(t, words("hi"))
	_, err := b.Send(t.Context(), naming(cite), to("strict", text("a")))
	var f *apierror.Error
	if !errors.Is(err, a2a.ErrExtensionSupportRequired) || !errors.As(err, &f) || f.Meta["extensions"] != geo {
		t.Errorf("Send = %v, want ErrExtensionSupportRequired that names %s", err, geo)
	}
	if _, err := b.Stream(t.Context(), naming(), to("strict", text("a"))); !errors.Is(err, a2a.ErrExtensionSupportRequired) {
		t.Errorf("Stream = %v, want ErrExtensionSupportRequired", err)
	}
	list := func(tenant string, c *op.Caller) (*op.Page, error) {
		return b.List(t.Context(), c, &op.List{Target: op.Target{Tenant: tenant}, PageSize: 10})
	}
	if _, err := list("strict", naming()); !errors.Is(err, a2a.ErrExtensionSupportRequired) {
		t.Errorf("List of the agent = %v, want ErrExtensionSupportRequired", err)
	}
	for _, tenant := range []string{"", "strict"} {
		if p, err := list(tenant, naming(geo)); err != nil || len(p.Tasks) != 0 {
			t.Errorf("List(%q) = %+v, %v, want no tasks", tenant, p, err)
		}
	}
	if _, err := b.Send(t.Context(), naming(), text("b")); err != nil {
		t.Errorf("Send to an agent that requires nothing = %v", err)
	}
	if _, err := list("", naming()); err != nil {
		t.Errorf("List of all agents = %v", err)
	}
}

func TestActivated(t *testing.T) {
	t.Parallel()
	b := strict(t, words("hi"))
	for _, tt := range []struct {
		agent task.Agent
		named []string
		want  []string
	}{
		{"strict", nil, nil},
		{"strict", []string{alien, inner, cite, geo}, []string{inner, cite, geo}},
		{"strict", []string{alien}, nil},
		{"main", []string{geo}, nil},
		{"unknown", []string{geo}, nil},
	} {
		if diff := cmp.Diff(tt.want, b.Activated(tt.agent, tt.named)); diff != "" {
			t.Errorf("Activated(%s, %v) mismatch (-want +got):\n%s", tt.agent, tt.named, diff)
		}
	}
}

// seenExtensions are the extensions passed to an executor.
type seenExtensions struct{ Requested, Activated, Call []string }

func see(ctx context.Context) seenExtensions {
	var s seenExtensions
	if x, ok := a2asrv.ExtensionsFrom(ctx); ok {
		s.Requested, s.Activated = x.RequestedURIs(), x.ActivatedURIs()
	}
	if c := agent.CallFrom(ctx); c != nil {
		s.Call = c.Extensions
	}
	return s
}

// Executors learn from the SDK which extensions the caller named and which are active.
func TestExecutorSeesExtensions(t *testing.T) {
	t.Parallel()
	saw := make(chan seenExtensions, 2)
	x := &executor{
		run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			saw <- see(ctx)
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
		},
		cancel: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			saw <- see(ctx)
			yield(status(ec, a2a.TaskStateCanceled, ""), nil)
		},
	}
	b := strict(t, x)
	c := naming(alien, cite, geo)
	// The unparsed header is one value.
	c.Params = map[string][]string{"a2a-extensions": {alien + ", " + cite + "," + geo}}
	a, err := b.Send(t.Context(), c, to("strict", text("a")))
	if err != nil {
		t.Fatal(err)
	}
	want := seenExtensions{[]string{alien, cite, geo}, []string{cite, geo}, []string{cite, geo}}
	if diff := cmp.Diff(want, <-saw); diff != "" {
		t.Errorf("extensions of a run mismatch (-want +got):\n%s", diff)
	}
	if _, err := b.Cancel(t.Context(), naming(geo), &op.Cancel{ID: a.Head.ID}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seenExtensions{[]string{geo}, []string{geo}, nil}, <-saw); diff != "" {
		t.Errorf("extensions of a cancellation mismatch (-want +got):\n%s", diff)
	}
}
