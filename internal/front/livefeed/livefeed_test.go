package livefeed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func body(text string) []byte {
	b, _ := json.Marshal(map[string]any{"parts": []any{map[string]string{"text": text}}})
	return b
}

func TestView(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		v := &View{Bus: b, Hub: "h"}
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var received []string
		var wg sync.WaitGroup
		wg.Go(func() {
			for d := range b.Receive(ctx, bus.Subscription{At: protocol.ChatTopic}) {
				var c protocol.Chat
				if err := json.Unmarshal(d.Body, &c); err != nil {
					t.Error(err)
				}
				mu.Lock()
				received = append(received, fmt.Sprintf("%s %s %s %s: %.10s (%d) %s %s", d.Type, c.Agent, c.Type, c.State, c.Text, len(c.Text), d.Correlation, d.Task))
				mu.Unlock()
			}
		})
		wg.Go(func() { _ = v.Run(ctx) })
		synctest.Wait()
		v.Output(&engine.Output{Agent: "a", Task: "t", Correlation: "c", Entries: []task.Entry{
			{Kind: task.Status, State: task.Working},
			{Kind: task.Artifact, Body: body("hello")},
			{Kind: task.Message, Body: body("not mine")},
			{Kind: task.Status, State: task.Completed, Body: body(strings.Repeat("ä", maxText))},
		}})
		synctest.Wait()
		cancel()
		wg.Wait()
		want := []string{
			"agent.chat.inbound a status TASK_STATE_WORKING:  (0) c t",
			"agent.chat.inbound a artifact : hello (5) c t",
			"agent.chat.inbound a status TASK_STATE_COMPLETED: ääääääääää (8192) c t",
		}
		if diff := cmp.Diff(want, received); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

// TestSlowBus checks that callers do not wait for a bus that accepts nothing.
func TestSlowBus(t *testing.T) {
	t.Parallel()
	v := &View{Bus: new(bus.Memory)}
	began := time.Now()
	for range room + 10 {
		v.Output(&engine.Output{Agent: "a", Entries: []task.Entry{{Kind: task.Status}}})
	}
	if got := v.lost.Load(); got != 10 || len(v.queue) != room {
		t.Errorf("%d were left out, %d wait, after %v", got, len(v.queue), time.Since(began))
	}
	if slices.Contains(Kinds, "local") || !slices.Contains(Kinds, "queue") || !slices.Contains(Kinds, "remote") {
		t.Error("the view is not of the agents that are elsewhere")
	}
}
