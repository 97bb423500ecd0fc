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
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/task"
)

// farAgent is a remote agent that lists tasks.
type farAgent struct {
	executor
	read func(ctx context.Context) ([]byte, error)
}

func (*farAgent) Kind() string         { return "remote" }
func (*farAgent) Traits() agent.Traits { return agent.Traits{AfterCrash: agent.Resume} }

func (f *farAgent) ReadTree(ctx context.Context, checkpoint []byte) ([]byte, error) {
	if string(checkpoint) != "there" {
		return nil, fmt.Errorf("the checkpoint is %q", checkpoint)
	}
	return f.read(ctx)
}

func newFar(proceed <-chan struct{}, read func(ctx context.Context) ([]byte, error)) *farAgent {
	two := twoSteps(proceed)
	return &farAgent{executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = agent.CallFrom(ctx).Checkpoint([]byte("there")) // the tree shows an error
		two.run(ctx, ec, yield)
	}}, read}
}

// farOf returns a task that another server lists.
func farOf(id, parent, agent, state string) string {
	return fmt.Sprintf(`{"id":%q,"parentId":%q,"agent":%q,"state":"TASK_STATE_%s","createdAt":"2026-11-20T10:00:00Z","ageMs":5,"inputTokens":10}`, id, parent, agent, state)
}

// TestFarTree reads the answers of remote agents, most of them hostile. Tree never waits for one.
func TestFarTree(t *testing.T) {
	t.Parallel()
	list := func(tasks ...string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) {
			return []byte(`{"tasks":[` + strings.Join(tasks, ",") + `]}`), nil
		}
	}
	for name, tt := range map[string]struct {
		read func(context.Context) ([]byte, error)
		want []string
	}{
		"tasks":        {list(farOf("x", "", "digger", "WORKING"), farOf("y", "x", "clerk", "COMPLETED")), []string{"main listed", "  digger WORKING", "    clerk COMPLETED"}},
		"none":         {list(), []string{"main listed"}},
		"no extension": {func(context.Context) ([]byte, error) { return nil, nil }, []string{"main "}},
		"a cycle":      {list(farOf("x", "y", "a", "WORKING"), farOf("y", "x", "b", "WORKING")), []string{"main listed more"}},
		"wrong types":  {list(`7`, `{"id":{}}`, farOf("x", "", "a", "DANCING")), []string{"main listed more"}},
		"no list":      {func(context.Context) ([]byte, error) { return []byte(`"x"`), nil }, []string{"main not answered"}},
		"an error":     {func(context.Context) ([]byte, error) { return nil, errors.New("too large") }, []string{"main not answered"}},
		"a hang": {func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, []string{"main not answered"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, engine.Config{}, newFar(nil, tt.read))
			id := b.send(now(text("hi"))).Head.ID
			synctest.Wait()
			for range 2 { // the checkpoint may be stored after the first request
				at := time.Now()
				if _, err := b.Tree(t.Context(), alice, id); err != nil || time.Since(at) != 0 {
					t.Fatalf("%s: Tree: %v after %v", name, err, time.Since(at))
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
			}
			nodes, err := b.Tree(t.Context(), alice, id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, farLines(nodes)); diff != "" {
				t.Errorf("%s: tree (-want +got):\n%s", name, diff)
			}
		})
	}
}

// farLines returns the nodes of a tree as lines.
func farLines(nodes []engine.Node) (lines []string) {
	for i := range nodes {
		n := &nodes[i]
		line := strings.Repeat("  ", n.Depth) + string(n.Head.Agent) + " " + string(n.Below)
		if n.Far != nil {
			line += strings.TrimPrefix(n.Far.State, "TASK_STATE_")
		}
		if n.More {
			line += " more"
		}
		lines = append(lines, line)
	}
	return lines
}

// TestSharedTree: callers without credentials, and those of agents that share their trees, get the
// tasks below a task. All others get the task as if they had not asked.
func TestSharedTree(t *testing.T) {
	t.Parallel()
	anonymous := caller("local")
	for name, tt := range map[string]struct {
		share  []string
		user   *op.Caller
		shared bool
	}{
		"by default":    {nil, alice, false},
		"another agent": {[]string{"other"}, alice, false},
		"the agent":     {[]string{"main"}, alice, true},
		"all agents":    {[]string{"*"}, alice, true},
		"without a key": {nil, anonymous, true},
		"not asked for": {[]string{"*"}, nil, false},
	} {
		b := start(t, engine.Config{ShareTrees: tt.share, Limits: limits.Limits{DrainTimeout: -1}}, asks("other", "", nil))
		b.register("other", untilStopped(nil))
		user := alice
		if tt.user != nil {
			user = &op.Caller{Principal: tt.user.Principal, Extensions: []string{card.TaskTree}}
		}
		r := now(text("hi"))
		sent, err := b.Send(t.Context(), &op.Caller{Principal: user.Principal}, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Get(t.Context(), user, &op.Get{ID: sent.Head.ID})
		if err != nil {
			t.Fatal(err)
		}
		json := string(got.Fold.AppendTask(nil, &got.Head, task.TaskOptions{History: got.History, Artifacts: true}))
		if strings.Contains(json, card.TaskTree) != tt.shared || strings.Contains(json, `"history"`) == tt.shared {
			t.Errorf("%s: %s", name, json)
		}
	}
}
