package inside_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/front/inside"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/inprocess"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// two asks a question first, and then answers with two artifacts.
var two = agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if ec.StoredTask == nil {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which?"))), nil)
		return
	}
	_ = yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("one")), nil) &&
		yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("two")), nil) &&
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
})

// hub is a hub with one agent, and a client for each way to it.
type hub struct {
	engine *engine.Engine
	calls  *inside.Binding
	http   inprocess.Transport
}

func start(t *testing.T, cfg engine.Config) *hub {
	t.Helper()
	cfg.Store, cfg.DrainTimeout, cfg.Body = new(memstore.Store), -1, 64<<10
	h := new(hub)
	h.engine, _ = enginetest.Start(t, cfg, enginetest.Agent("two", two))
	h.calls = &inside.Binding{Engine: h.engine, Logger: slog.New(slog.DiscardHandler)}
	h.http.Handler = httpfront.New(httpfront.Config{Engine: h.engine, Limits: cfg.Limits}).Inside()
	t.Cleanup(func() {
		h.http.Close()
		h.calls.Close()
	})
	return h
}

// client returns a client that calls the engine, or the HTTP front.
func (h *hub) client(t *testing.T, direct bool) *client.Client {
	t.Helper()
	i := a2a.NewAgentInterface("http://127.0.0.1/v1/a2a/two", a2a.TransportProtocolHTTPJSON)
	o := client.Options{HTTP: &http.Client{Transport: &h.http}, Header: http.Header{"A2a-Extensions": {card.ClientTaskIDs}}}
	if direct {
		o.Header = nil
		i.ProtocolBinding, i.Tenant = "INPROCESS", "two"
		o.Transports = map[a2a.TransportProtocol]client.Transport{"INPROCESS": h.calls.Dial}
	}
	i.ProtocolVersion = "1.0"
	c, err := client.New(&a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{i}, Capabilities: a2a.AgentCapabilities{Streaming: true}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// as returns a context of a caller.
func as(t *testing.T, id string) context.Context {
	t.Helper()
	return auth.WithPrincipal(t.Context(), &auth.Principal{ID: id})
}

func message(id a2a.TaskID, text string) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.TaskID = id
	return &a2a.SendMessageRequest{Message: m}
}

// play plays a conversation, with calls that fail, and returns the answers as text.
func play(t *testing.T, c *client.Client) (all []string) {
	t.Helper()
	ann, id := as(t, "ann"), a2a.NewTaskID()
	show := func(what string, task *a2a.Task, err error) {
		text := what + ": " + failure(err)
		if err == nil {
			text = fmt.Sprintf("%s: %s, %d artifacts, %d messages", what, task.Status.State, len(task.Artifacts), len(task.History))
		}
		all = append(all, text)
	}
	send := func(what string, ctx context.Context, r *a2a.SendMessageRequest) {
		res, err := c.Send(ctx, r)
		task, _ := res.(*a2a.Task)
		show(what, task, err)
	}
	get := func(what string, ctx context.Context, id a2a.TaskID) {
		task, err := c.Get(ctx, &a2a.GetTaskRequest{ID: id})
		show(what, task, err)
	}
	send("without a principal", t.Context(), message("", "hi"))
	send("too large", ann, message("", strings.Repeat("x", 65<<10)))
	send("first", ann, message(id, "hi"))
	send("same id of another caller", as(t, "bob"), message(id, "hi"))
	get("another caller", as(t, "eve"), id)
	get("unknown", ann, "unknown")
	get("waiting", ann, id)
	send("answer", ann, message(id, "both"))
	send("ended", ann, message(id, "again"))
	task, err := c.Cancel(ann, &a2a.CancelTaskRequest{ID: id})
	show("cancel", task, err)
	for e, err := range c.Follow(ann, client.Position{Task: id, EventID: "1"}) {
		if err != nil {
			all = append(all, "follow: "+failure(err))
			break
		}
		all = append(all, fmt.Sprintf("event: %T", e))
	}
	for i, line := range all {
		all[i] = strings.ReplaceAll(line, string(id), "ID")
	}
	return all
}

// failure returns the fields of an error that callers act on.
func failure(err error) string {
	var e *transport.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%v, code %d, %s, %q, HTTP %d, retry after %v, %v", e.Err, e.Code, e.Reason, e.Message, e.Status, e.RetryAfter, e.Meta)
}

// TestSameAsHTTP plays a conversation over the engine and over HTTP: the answers, the events and
// the errors are the same.
func TestSameAsHTTP(t *testing.T) {
	t.Parallel()
	h := start(t, engine.Config{})
	got, want := play(t, h.client(t, true)), play(t, h.client(t, false))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-HTTP +engine):\n%s", diff)
	}
	if n := len(got); n != 14 || !strings.HasPrefix(got[0], "without a principal: ") || !strings.Contains(got[0], "UNAUTHENTICATED") {
		t.Errorf("%d answers, want 14, and the first refused:\n%s", n, strings.Join(got, "\n"))
	}
}

// TestLimits checks that calls count against the limits of their caller.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{true, false} {
		h := start(t, engine.Config{Limits: limits.Limits{RequestsPerSecond: 1e-9, Burst: 1}})
		c := h.client(t, direct)
		if _, err := c.Send(as(t, "ann"), message("", "hi")); err != nil {
			t.Fatal(err)
		}
		var e *transport.Error
		_, err := c.Get(as(t, "ann"), &a2a.GetTaskRequest{ID: "t"})
		if !errors.As(err, &e) || e.Reason != "RESOURCE_EXHAUSTED" || e.Status != http.StatusTooManyRequests {
			t.Errorf("the second call (direct %t) = %v, want RESOURCE_EXHAUSTED", direct, err)
		}
		if _, err := c.Get(as(t, "bob"), &a2a.GetTaskRequest{ID: "t"}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("a call of another caller (direct %t) = %v, want not found", direct, err)
		}
	}
}

// TestClose checks that a closed binding refuses calls.
func TestClose(t *testing.T) {
	t.Parallel()
	h := start(t, engine.Config{})
	c := h.client(t, true)
	h.calls.Close()
	if _, err := c.Get(as(t, "ann"), &a2a.GetTaskRequest{ID: "t"}); !cmp.Equal(err, inprocess.ErrClosed, cmpopts.EquateErrors()) {
		t.Errorf("Get = %v, want %v", err, inprocess.ErrClosed)
	}
}
