package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/conversation"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eventLog records the events of the conversations of a test.
type eventLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *eventLog) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *eventLog) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// counter is a Conversation that counts its messages.
type counter struct {
	d    *eventLog
	name string
	n    int
}

func (c *counter) Send(ctx context.Context, m *a2a.Message) (*conversation.Reply, error) {
	text := agent.Text(m)
	switch text {
	case "fail":
		return nil, errors.New("it is tired")
	case "wait":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "ask":
		return &conversation.Reply{Question: "Which one?"}, nil
	case "nothing":
		return nil, nil //nolint:nilnil // a conversation may say nothing
	case "tool":
		return &conversation.Reply{Calls: []*llm.ClientCall{{ID: "c", Name: "t"}}}, nil
	}
	c.n++
	return &conversation.Reply{Parts: a2a.ContentParts{a2a.NewTextPart(fmt.Sprintf("%d: %s", c.n, text))}}, nil
}

func (c *counter) Close() error {
	c.d.note("close %s", c.name)
	return errors.New("it does not like to go")
}

// toolUser is a Conversation that asks its caller to perform tools.
type toolUser struct{ counter }

func (u *toolUser) Stream(_ context.Context, m *a2a.Message) iter.Seq2[*conversation.Reply, error] {
	return func(yield func(*conversation.Reply, error) bool) {
		for i, word := range strings.SplitAfter(agent.Text(m), " ") {
			r := &conversation.Reply{Parts: a2a.ContentParts{a2a.NewTextPart(word)}}
			if i == 1 {
				r.Calls = []*llm.ClientCall{{ID: "c1", Name: "read", Args: map[string]any{"path": "a"}, Consent: "May I?"}, {ID: "c2", Name: "list"}}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (u *toolUser) Resume(_ context.Context, results []*llm.ClientResult) (*conversation.Reply, error) {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s=%v rejected=%t %s; ", r.ID, r.Result, r.Rejected, r.Reason)
	}
	return &conversation.Reply{Parts: a2a.ContentParts{a2a.NewTextPart(b.String())}}, nil
}

// hub runs an agent behind a hub on a store.
type hub struct {
	t     *testing.T
	d     *eventLog
	agent *conversation.Agent
	e     *engine.Engine
	stop  func()
}

func start(t *testing.T, store task.Store, tools bool) *hub {
	t.Helper()
	h := &hub{t: t, d: new(eventLog)}
	h.agent = &conversation.Agent{Open: func(_ context.Context, o *conversation.Opening) (conversation.Conversation, error) {
		h.d.note("open %s of %s, %d calls, %d messages", o.ContextID, o.Principal.ID, len(o.Pending), len(o.History))
		c := counter{d: h.d, name: o.ContextID}
		switch {
		case o.ContextID == "closed":
			return nil, errors.New("no more of that")
		case o.ContextID == "nil":
			return nil, nil //nolint:nilnil // an opener may be wrong
		case tools:
			return &toolUser{c}, nil
		}
		return &c, nil
	}}
	e, end := enginetest.Start(t, engine.Config{Store: store}, enginetest.Agent("talk", h.agent))
	h.e = e
	h.stop = sync.OnceFunc(func() {
		end()
		if err := h.agent.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

// say sends a message of ann. It returns the state and the reply of the agent.
func (h *hub) say(members string) (state, reply string) {
	h.t.Helper()
	a, err := h.send("ann", members)
	if err != nil {
		h.t.Fatal(err)
	}
	reply = task.TextOf(a.Head.StatusMessage)
	if a.Head.State == task.Completed {
		reply = a.Fold.ReplyText()
	}
	return strings.TrimPrefix(a.Head.State.String(), "TASK_STATE_"), reply
}

func (h *hub) send(who, members string) (*engine.Answer, error) {
	var d dialect.Decoder
	r, err := d.SendAt([]byte(`{"message":{"messageId":"m","role":"ROLE_USER",` + members + `}}`))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Resume = true
	return h.e.Send(context.Background(), &op.Caller{Principal: &auth.Principal{ID: who}}, r)
}

func text(contextID, words string) string {
	return fmt.Sprintf(`"contextId":%q,"parts":[{"text":%q}]`, contextID, words)
}

func (h *hub) want(members, wantState, wantReply string) {
	h.t.Helper()
	if state, reply := h.say(members); state != wantState || reply != wantReply {
		h.t.Errorf("%s: %s %q, want %s %q", members, state, reply, wantState, wantReply)
	}
}

func (h *hub) happened(want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.d.take()); diff != "" {
		h.t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// All messages of a context go to one conversation, which is closed after an hour.
func TestConversations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t, new(memstore.Store), false)
		h.want(text("a", "x"), "COMPLETED", "1: x")
		h.want(text("a", "y"), "COMPLETED", "2: y")
		h.want(text("b", "x"), "COMPLETED", "1: x")
		h.happened("open a of ann, 0 calls, 0 messages", "open b of ann, 0 calls, 0 messages")
		if a, err := h.send("bob", text("a", "x")); err != nil || a.Fold.ReplyText() != "1: x" {
			t.Errorf("another caller is answered %v, %v", a, err)
		}
		h.happened("open a of bob, 0 calls, 0 messages")
		h.want(text("a", "ask"), "INPUT_REQUIRED", "Which one?")
		h.want(text("a", "that"), "COMPLETED", "3: that")
		h.want(text("a", "nothing"), "COMPLETED", "")
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		h.want(text("a", "z"), "COMPLETED", "4: z")
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		closed := h.d.take()
		slices.Sort(closed)
		if diff := cmp.Diff([]string{"close a", "close b"}, closed); diff != "" {
			t.Errorf("an hour later (-want +got):\n%s", diff)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		h.happened("close a")
		h.want(text("a", "x"), "COMPLETED", "1: x")
		h.happened("open a of ann, 0 calls, 0 messages")
		h.stop()
		h.happened("close a")
	})
}

// A conversation that has failed is opened again.
func TestFailures(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), false)
	h.want(text("a", "x"), "COMPLETED", "1: x")
	for _, bad := range []string{text("a", "fail"), text("a", "tool"), text("closed", "x"), text("nil", "x")} {
		if state, _ := h.say(bad); state != "FAILED" {
			t.Errorf("%s ends %s", bad, state)
		}
	}
	h.want(text("a", "x"), "COMPLETED", "1: x")
	h.happened(
		"open a of ann, 0 calls, 0 messages", "close a", "open a of ann, 0 calls, 0 messages", "close a",
		"open closed of ann, 0 calls, 0 messages", "open nil of ann, 0 calls, 0 messages", "open a of ann, 0 calls, 0 messages",
	)
}

// Canceling a call ends the conversation. The next waiting message is answered then.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := start(t, new(memstore.Store), false)
	r := strings.Replace(text("a", "wait"), `"parts"`, `"taskId":"","parts"`, 1)
	var d dialect.Decoder
	m, err := d.SendAt([]byte(`{"message":{"messageId":"m","role":"ROLE_USER",` + r + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	m.ReturnImmediately = true
	caller := &op.Caller{Principal: &auth.Principal{ID: "ann"}}
	a, err := h.e.Send(t.Context(), caller, m)
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.e.Cancel(t.Context(), caller, &op.Cancel{ID: a.Head.ID})
	if err != nil || c.Head.State != task.Canceled {
		t.Fatalf("Cancel = %v, %v", c, err)
	}
	h.want(text("a", "x"), "COMPLETED", "1: x")
}

// The caller performs tools, across a restart of the hub.
func TestTools(t *testing.T) {
	t.Parallel()
	store := new(memstore.Store)
	h := start(t, store, true)
	h.want(text("a", "one two"), "INPUT_REQUIRED", "May I?")
	h.want(`"contextId":"a","parts":[{"text":"","metadata":{"tool_call_id":"c9","tool_result":1}}]`, "INPUT_REQUIRED", "no call \"c9\" waits for a result\nMay I?")
	h.stop()
	h = start(t, store, true)
	h.want(`"contextId":"a","parts":[{"text":"","metadata":{"tool_call_id":"c1","tool_result":{"n":1}}}]`,
		"COMPLETED", "c1=map[n:1] rejected=false ; c2=<nil> rejected=true the caller did not answer; ")
	if got := h.d.take(); len(got) != 1 || !strings.HasPrefix(got[0], "open a of ann, 2 calls, ") {
		t.Errorf("after the restart: %q", got)
	}
	h.want(text("a", "three"), "COMPLETED", "three")
	h.want(text("b", "one two"), "INPUT_REQUIRED", "May I?")
	h.want(`"contextId":"b","parts":[{"text":"","metadata":{"tool_call_id":"c2","rejected":true,"reason":"private"}},{"text":"","metadata":{"tool_call_id":"c1","tool_result":"x"}}]`,
		"COMPLETED", "c1=x rejected=false ; c2=<nil> rejected=true private; ")
}

func TestClosed(t *testing.T) {
	t.Parallel()
	var a conversation.Agent
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for ev, err := range a.Execute(t.Context(), &a2asrv.ExecutorContext{ContextID: "a"}) {
		if !errors.Is(err, conversation.ErrClosed) {
			t.Errorf("a message is answered %v, %v", ev, err)
		}
	}
}

// slowToGo is a Conversation whose Close waits.
type slowToGo struct {
	counter

	closing, may chan struct{}
}

func (s *slowToGo) Close() error {
	close(s.closing)
	<-s.may
	return nil
}

// TestCloseTwice checks that a second Close waits for the first one.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conv := &slowToGo{counter{d: new(eventLog)}, make(chan struct{}), make(chan struct{})}
		a := &conversation.Agent{Open: func(context.Context, *conversation.Opening) (conversation.Conversation, error) { return conv, nil }}
		x := &a2asrv.ExecutorContext{ContextID: "a", TaskID: "t", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))}
		for _, err := range a.Execute(t.Context(), x) {
			if err != nil {
				t.Fatal(err)
			}
		}
		var first, second sync.WaitGroup
		first.Go(func() { _ = a.Close() })
		<-conv.closing
		var closed atomic.Bool
		second.Go(func() {
			_ = a.Close()
			closed.Store(true)
		})
		synctest.Wait()
		if closed.Load() {
			t.Error("the second Close returned while the first was closing a conversation")
		}
		close(conv.may)
		first.Wait()
		second.Wait()
	})
}
