package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// pushing returns an engine with a pusher that must report no problems.
func pushing(t *testing.T, cfg engine.Config, x a2asrv.AgentExecutor) (*bench, *enginetest.Pusher) {
	t.Helper()
	p := new(enginetest.Pusher)
	cfg.Push, cfg.Observer = p, p
	b := start(t, cfg, x)
	t.Cleanup(func() {
		b.stop()
		if problems := p.Problems(); len(problems) > 0 {
			t.Errorf("the pusher got wrong changes:\n%s", strings.Join(problems, "\n"))
		}
	})
	return b, p
}

const hookURL = "https://hooks.example/a"

func config(id a2a.TaskID, name string) *op.PushConfig {
	return &op.PushConfig{TaskID: id, ID: name, URL: hookURL}
}

func (b *bench) push(c *op.PushConfig) *op.ShownPush {
	b.t.Helper()
	got, err := b.CreatePush(b.t.Context(), alice, c)
	if err != nil {
		b.t.Fatalf("CreatePush(%+v): %v", c, err)
	}
	return got
}

func (b *bench) list(id a2a.TaskID) *op.PushPage {
	b.t.Helper()
	got, err := b.ListPush(b.t.Context(), alice, &op.PushList{TaskID: id})
	if err != nil {
		b.t.Fatalf("ListPush(%s): %v", id, err)
	}
	return got
}

func ids(p *op.PushPage) []string {
	var all []string
	for _, c := range p.Configs {
		all = append(all, c.ID)
	}
	return all
}

func TestPushConfigs(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("hello"))
	h := b.send(text("hi")).Head
	if got := b.list(h.ID); len(got.Configs) != 0 || got.NextPageToken != "" {
		t.Errorf("ListPush of a task without configs = %+v", got)
	}
	full := config(h.ID, "b")
	full.Token, full.Scheme, full.Credentials = "token", "Bearer", "credentials"
	want := &op.ShownPush{TaskID: h.ID, ID: "b", URL: hookURL, Scheme: "Bearer"}
	if diff := cmp.Diff(want, b.push(full)); diff != "" {
		t.Errorf("CreatePush mismatch (-want +got):\n%s", diff)
	}
	named := b.push(config(h.ID, ""))
	if named.ID == "" {
		t.Error("a config without id got none")
	}
	got, err := b.GetPush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "b"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("GetPush: %v, mismatch (-want +got):\n%s", err, diff)
	}
	again := config(h.ID, "b")
	again.URL = "https://hooks.example/other"
	b.push(again)
	if got, _ := b.GetPush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "b"}); got == nil || got.URL != again.URL || got.Scheme != "" {
		t.Errorf("after the same id came again: %+v, want it replaced", got)
	}
	wantIDs := []string{"b", named.ID}
	slices.Sort(wantIDs)
	if diff := cmp.Diff(wantIDs, ids(b.list(h.ID))); diff != "" {
		t.Errorf("ListPush mismatch (-want +got):\n%s", diff)
	}
	for _, k := range p.Known(h.Key) {
		replaced := k.ID == "b"
		if want := h.Version; k.Settled != replaced || !replaced && k.Position != want-1 || replaced && k.Position != want || k.CreatedAt == 0 {
			t.Errorf("config of a task that has ended is %+v, want it settled at v%d if it was replaced, else before", k, want)
		}
	}
}

func TestDeletePush(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("hello"))
	h := b.send(text("hi")).Head
	b.push(config(h.ID, "a"))
	b.push(config(h.ID, "b"))
	for range 2 {
		if err := b.DeletePush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "a"}); err != nil {
			t.Fatalf("DeletePush: %v", err)
		}
	}
	if known := p.Known(h.Key); len(known) != 1 || known[0].ID != "b" {
		t.Errorf("the pusher knows %+v, want b alone", known)
	}
	_, err := b.GetPush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "a"})
	if !errors.Is(err, a2a.ErrTaskNotFound) || !strings.Contains(err.Error(), `no push notification config "a"`) {
		t.Errorf("GetPush of a deleted config = %v, want ErrTaskNotFound in its own words", err)
	}
	if diff := cmp.Diff([]string{"b"}, ids(b.list(h.ID))); diff != "" {
		t.Errorf("ListPush mismatch (-want +got):\n%s", diff)
	}
}

func TestListPushPages(t *testing.T) {
	t.Parallel()
	b, _ := pushing(t, engine.Config{}, words("hello"))
	h, other := b.send(text("hi")).Head, b.send(text("other")).Head
	var want []string
	for i := range engine.MaxPushConfigs {
		name := fmt.Sprintf("config-%02d", i)
		want = append(want, name)
		b.push(config(h.ID, name))
		b.push(config(other.ID, name))
	}
	for _, size := range []int{0, 1, 7, 31, 32, 33, 1 << 30} {
		var got []string
		r := &op.PushList{TaskID: h.ID, PageSize: size}
		for {
			page, err := b.ListPush(t.Context(), alice, r)
			if err != nil {
				t.Fatalf("ListPush with pages of %d: %v", size, err)
			}
			if size > 0 && len(page.Configs) > size {
				t.Fatalf("a page of %d has %d", size, len(page.Configs))
			}
			got = append(got, ids(page)...)
			if r.PageToken = page.NextPageToken; r.PageToken == "" {
				break
			}
			if _, err := b.ListPush(t.Context(), alice, &op.PushList{TaskID: other.ID, PageToken: r.PageToken}); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("token of another task: %v, want ErrInvalidParams", err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d mismatch (-want +got):\n%s", size, diff)
		}
	}
	for _, token := range []string{"x", "config-01", "AAAAAAAAAAA", "AAAAAAAAAAAx", "***", strings.Repeat("A", 1<<16)} {
		_, err := b.ListPush(t.Context(), alice, &op.PushList{TaskID: h.ID, PageToken: token})
		if !errors.Is(err, a2a.ErrInvalidParams) || !strings.HasPrefix(err.Error(), "pageToken") {
			t.Errorf("token %.20q: %v, want ErrInvalidParams about pageToken", token, err)
		}
	}
}

// pushCalls makes the four operations on a task, with a config that would be refused if it was
// examined.
func (b *bench) pushCalls(c *op.Caller, to op.Target, id a2a.TaskID) map[string]error {
	ctx := b.t.Context()
	_, create := b.CreatePush(ctx, c, &op.PushConfig{Target: to, TaskID: id, URL: "nonsense"})
	_, get := b.GetPush(ctx, c, &op.PushRef{Target: to, TaskID: id, ID: "a"})
	_, list := b.ListPush(ctx, c, &op.PushList{Target: to, TaskID: id, PageToken: "nonsense"})
	del := b.DeletePush(ctx, c, &op.PushRef{Target: to, TaskID: id, ID: "a"})
	return map[string]error{"create": create, "get": get, "list": list, "delete": del}
}

// A task of another caller looks like one that does not exist, whatever other errors the call
// has.
func TestPushConfigsOfForeignTasks(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("hello"))
	b.register("other", words("hello"))
	h := b.send(text("hi")).Head
	b.push(config(h.ID, "a"))
	missing := b.pushCalls(alice, op.Target{}, "nothing")
	for name, got := range map[string]map[string]error{
		"another caller": b.pushCalls(caller("bob"), op.Target{}, h.ID),
		"another agent":  b.pushCalls(alice, op.Target{Tenant: "other"}, h.ID),
	} {
		for call, err := range got {
			want := missing[call]
			if !errors.Is(err, a2a.ErrTaskNotFound) || err.Error() != want.Error() {
				t.Errorf("%s, %s: %v, want the error of a missing task: %v", name, call, err, want)
			}
		}
	}
	if known := p.Known(h.Key); len(known) != 1 {
		t.Errorf("the task has %d configs after foreign calls, want 1", len(known))
	}
}

func TestPushNotSupported(t *testing.T) {
	t.Parallel()
	b := start(t, engine.Config{}, words("hello"))
	h := b.send(text("hi")).Head
	if b.Pushes() {
		t.Error("Pushes() = true without a pusher")
	}
	for _, id := range []a2a.TaskID{h.ID, "nothing"} {
		for call, err := range b.pushCalls(alice, op.Target{}, id) {
			if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
				t.Errorf("%s = %v, want ErrPushNotificationNotSupported", call, err)
			}
		}
	}
}

// withPush returns r with a push notification config.
func withPush(r *op.Send, name string) *op.Send {
	r.Push = &op.PushConfig{ID: name, URL: hookURL}
	return r
}

func TestInlinePush(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}}
	b, p := pushing(t, engine.Config{}, x)
	asked := b.send(withPush(text("hi"), "first")).Head
	if known := p.Known(asked.Key); len(known) != 1 || known[0].Position != 1 || known[0].Reached != asked.Version || known[0].Settled {
		t.Errorf("with a first message: %+v, want one hook from v1 to v%d", known, asked.Version)
	}
	done := b.send(withPush(reply(asked.ID, "this"), "second")).Head
	known := p.Known(asked.Key)
	if len(known) != 2 || known[1].Position != asked.Version+1 || known[1].Reached != done.Version {
		t.Errorf("with a follow-up: %+v, want a second hook from v%d to v%d", known, asked.Version+1, done.Version)
	}
	stored, err := b.store.Hooks(t.Context(), asked.Key, "", 10)
	if err != nil || len(stored) != 2 || stored[0].Position != 1 || stored[1].Position != asked.Version+1 {
		t.Errorf("stored: %+v, %v; want both", stored, err)
	}
}

func TestInlinePushRefused(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("hello"))
	done := b.send(text("hi")).Head
	bad := withPush(text("bad"), "a")
	bad.Push.URL = "http://hooks.example"
	elsewhere := withPush(text("elsewhere"), "a")
	elsewhere.Push.Tenant = "other"
	for name, tt := range map[string]struct {
		r     *op.Send
		want  error
		field string
	}{
		"url":    {bad, a2a.ErrInvalidParams, "configuration.taskPushNotificationConfig.url"},
		"tenant": {elsewhere, a2a.ErrInvalidParams, "configuration.taskPushNotificationConfig.tenant"},
		"ended":  {withPush(reply(done.ID, "again"), "a"), a2a.ErrUnsupportedOperation, ""},
		"absent": {withPush(reply("nothing", "again"), "a"), a2a.ErrTaskNotFound, ""},
	} {
		_, err := b.Send(t.Context(), alice, tt.r)
		var f *apierror.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &f) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
			continue
		}
		if tt.field != "" && (len(f.Violations) != 1 || f.Violations[0].Field != tt.field) {
			t.Errorf("%s: violations %+v, want the field %s", name, f.Violations, tt.field)
		}
	}
	if known := p.Known(done.Key); len(known) != 0 {
		t.Errorf("a refused message left %+v", known)
	}
	if page, _ := b.List(t.Context(), alice, &op.List{PageSize: 10}); page.TotalSize != 1 {
		t.Errorf("tasks = %d, want 1: a refused config stores nothing", page.TotalSize)
	}
}

// Webhooks are not notified of a task that ends as a bare message.
func TestInlinePushOfABareMessage(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	x := &executor{run: func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("good day")), nil)
	}}
	b, p := pushing(t, engine.Config{Store: store}, x)
	a := b.send(withPush(text("hi"), "a"))
	hooks, err := store.Unsettled(t.Context(), task.HookRef{}, 10)
	if err != nil || len(hooks) != 1 || a.Message == nil {
		t.Fatalf("answer %+v with the hooks %+v, %v; want a message and a hook", a, hooks, err)
	}
	if h := p.Head(hooks[0].Task); h.Visibility != task.Replied {
		t.Errorf("the last head at the pusher is %+v, want it answered", h)
	}
	if _, err := b.GetPush(t.Context(), alice, &op.PushRef{TaskID: hooks[0].Head.ID, ID: "a"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("GetPush = %v, want ErrTaskNotFound", err)
	}
}

// With any number of concurrent callers, a task has no more configs than allowed.
func TestPushConfigsByTheThousand(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("hello"))
	h := b.send(text("hi")).Head
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 250 {
				_, err := b.CreatePush(t.Context(), alice, config(h.ID, ""))
				switch {
				case err == nil:
					made.Add(1)
				case errors.Is(err, apierror.ErrExhausted) && strings.Contains(err.Error(), "32"):
					refused.Add(1)
				default:
					t.Errorf("CreatePush = %v, want ErrExhausted that names the limit", err)
				}
			}
		})
	}
	wg.Wait()
	known := p.Known(h.Key)
	if made.Load() != engine.MaxPushConfigs || refused.Load() != 2000-engine.MaxPushConfigs || len(known) != engine.MaxPushConfigs {
		t.Fatalf("%d made, %d refused, %d known; want %d made", made.Load(), refused.Load(), len(known), engine.MaxPushConfigs)
	}
	b.push(config(h.ID, known[7].ID)) // an existing one may be replaced
	if err := b.DeletePush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: known[7].ID}); err != nil {
		t.Fatal(err)
	}
	b.push(config(h.ID, "room again"))
}

// A follow-up whose config exceeds the limit is refused as a whole, and releases its place.
func TestInlinePushBeyondTheLimit(t *testing.T) {
	t.Parallel()
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "more?"), nil)
	}}
	b, p := pushing(t, engine.Config{Limits: limits.Limits{MaxRuns: 1}}, x)
	h := b.send(withPush(text("hi"), "0")).Head
	for i := range engine.MaxPushConfigs - 1 {
		b.push(config(h.ID, fmt.Sprint(i+1)))
	}
	if _, err := b.Send(t.Context(), alice, withPush(reply(h.ID, "one more"), "new")); !errors.Is(err, apierror.ErrExhausted) {
		t.Errorf("Send with the 33rd config = %v, want ErrExhausted", err)
	}
	if got := b.get(h.ID).Head; got.LastMessage != h.LastMessage {
		t.Errorf("the message was stored at v%d", got.LastMessage)
	}
	after := b.send(withPush(reply(h.ID, "replaces"), "0")).Head
	if known := p.Known(h.Key); len(known) != engine.MaxPushConfigs || known[0].Position != h.Version+1 || known[0].Reached != after.Version {
		t.Errorf("the config that was replaced is %+v, want it from v%d", known[0], h.Version+1)
	}
}

// A config that is registered while its task ends is either notified of the end or begins after
// it. No change is lost in between.
func TestPushConfigsRaceWithTheEndOfATask(t *testing.T) {
	t.Parallel()
	b, p := pushing(t, engine.Config{}, words("a", "b", "c", "d"))
	for i := range 50 {
		h := b.send(now(text(fmt.Sprint("race", i)))).Head
		var wg sync.WaitGroup
		for j := range 4 {
			wg.Go(func() {
				name := fmt.Sprint(j)
				b.push(config(h.ID, name))
				if j == 0 {
					if err := b.DeletePush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: name}); err != nil {
						t.Errorf("DeletePush: %v", err)
					}
				}
			})
		}
		end := b.wait(h.ID, task.Completed)
		wg.Wait()
		// Readers are notified before the pusher, and both while the task is locked.
		if err := b.DeletePush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "none"}); err != nil {
			t.Fatalf("DeletePush: %v", err)
		}
		known := p.Known(h.Key)
		if len(known) != 3 || known[0].ID != "1" {
			t.Fatalf("the pusher knows %+v, want 3 hooks", known)
		}
		for _, k := range known {
			if k.Reached != end.Version || k.Settled != (k.Position == end.Version) {
				t.Errorf("hook from v%d has reached v%d of %d, settled %v", k.Position, k.Reached, end.Version, k.Settled)
			}
		}
	}
}

// shaky is a store in memory whose next answer may be an error.
type shaky struct {
	memstore.Store
	// append is returned by the next Append, after the change was stored.
	append atomic.Pointer[error]
	// hook is returned by the next PutHook or DropHook, which does nothing then.
	hook atomic.Pointer[error]
}

func (s *shaky) Append(ctx context.Context, c *task.Change) error {
	err := s.Store.Append(ctx, c)
	if p := s.append.Swap(nil); p != nil {
		return *p
	}
	return err
}

func (s *shaky) PutHook(ctx context.Context, h *task.Hook) error {
	if p := s.hook.Swap(nil); p != nil {
		return *p
	}
	return s.Store.PutHook(ctx, h)
}

func (s *shaky) DropHook(ctx context.Context, ref task.HookRef) error {
	if p := s.hook.Swap(nil); p != nil {
		return *p
	}
	return s.Store.DropHook(ctx, ref)
}

func TestPushWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	store := new(shaky)
	b, p := pushing(t, engine.Config{Store: store}, words("hello"))
	h := b.send(text("hi")).Head
	down := fmt.Errorf("put: %w", task.ErrFull)
	store.hook.Store(&down)
	if _, err := b.CreatePush(t.Context(), alice, config(h.ID, "a")); !errors.Is(err, apierror.ErrUnavailable) || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("CreatePush on a full disk = %v, want ErrUnavailable with that reason", err)
	}
	if ready := b.Ready(t.Context()); ready[2].OK {
		t.Errorf("Ready = %+v, want the store to be reported", ready)
	}
	b.push(config(h.ID, "a"))
	if ready := b.Ready(t.Context()); !ready[2].OK {
		t.Errorf("Ready = %+v, want the store to work again", ready)
	}
	store.hook.Store(&down)
	if err := b.DeletePush(t.Context(), alice, &op.PushRef{TaskID: h.ID, ID: "a"}); !errors.Is(err, apierror.ErrUnavailable) {
		t.Errorf("DeletePush on a full disk = %v, want ErrUnavailable", err)
	}
	if known := p.Known(h.Key); len(known) != 1 {
		t.Errorf("the pusher knows %+v after a delete that failed, want a", known)
	}
	swept := fmt.Errorf("put: %w", task.ErrNotFound)
	store.hook.Store(&swept)
	if _, err := b.CreatePush(t.Context(), alice, config(h.ID, "b")); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("CreatePush as the task was swept = %v, want ErrTaskNotFound", err)
	}
}

// A follow-up is stored although the store returned an error. Once that is known, the pusher is
// notified of its config.
func TestInlinePushOfAnUncertainChange(t *testing.T) {
	t.Parallel()
	store := new(shaky)
	x := &executor{run: func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(status(ec, a2a.TaskStateInputRequired, "more?"), nil)
	}}
	b, p := pushing(t, engine.Config{Store: store, Limits: limits.Limits{MaxRuns: 1, MaxWait: 2 * time.Minute}}, x)
	h := b.send(text("hi")).Head
	reader, err := b.Subscribe(t.Context(), alice, &op.Subscribe{ID: h.ID}) // keeps the task live
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	lost := fmt.Errorf("append: %w", task.ErrUnavailable)
	store.append.Store(&lost)
	if _, err := b.Send(t.Context(), alice, withPush(reply(h.ID, "again"), "a")); !errors.Is(err, apierror.ErrUnavailable) {
		t.Fatalf("Send = %v, want ErrUnavailable", err)
	}
	if h := b.send(text("another")).Head; h.State != task.InputRequired {
		t.Errorf("the next task is %v, want it to get the place that was free again", h.State)
	}
	b.push(config(h.ID, "b"))
	if known := p.Known(h.Key); len(known) != 2 || known[0].ID != "a" || known[0].Position != h.Version+1 {
		t.Errorf("the pusher knows %+v, want a at v%d, and b", known, h.Version+1)
	}
}
