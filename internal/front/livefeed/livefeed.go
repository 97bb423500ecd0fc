// Package livefeed publishes the output of remote agents on a bus at once, for
// programs that show it to people.
//
// # Guarantees
//
// Each status and artifact of an agent at a queue or at another address is published at
// protocol.ChatTopic, in the order within its task, after it is durable. Runs and readers of
// tasks never wait for that.
//
// # Non-guarantees
//
// It is a view, not a record: if the bus is slower than the agents, or disconnected, events are
// dropped, and the log contains their number. Texts are cut at 8 KiB.
//
// # Concurrency
//
// A View is safe for concurrent use. Only Run publishes.
package livefeed

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// room is the number of events that may wait to be published.
	room = 1024
	// maxText is the length of the longest text in bytes.
	maxText = 8 << 10
	// publishTime is how long publishing one event may take.
	publishTime = 2 * time.Second
	// tellEvery is the time between two log records about dropped events.
	tellEvery = time.Minute
)

// View is a live view. Bus is required.
type View struct {
	Bus bus.Bus
	// Hub is the id of the hub.
	Hub string
	// Logger receives records about dropped events. If nil, nothing is logged.
	Logger *slog.Logger

	once  sync.Once
	queue chan *chat
	lost  atomic.Int64
}

// chat is an event that waits to be published.
type chat struct {
	protocol.Chat
	task, correlation string
	at                task.Millis
}

func (v *View) begin() { v.once.Do(func() { v.queue = make(chan *chat, room) }) }

// Kinds are the kinds of agents that run elsewhere, for engine.Observer.
var Kinds = []string{"remote", "queue"}

// Output queues output of an agent for publishing. It returns at once.
func (v *View) Output(s *engine.Output) {
	v.begin()
	for i := range s.Entries {
		en := &s.Entries[i]
		c := &chat{task: string(s.Task), correlation: s.Correlation, at: en.At}
		c.Agent = s.Agent
		switch en.Kind {
		case task.Status:
			c.Type, c.State = "status", en.State.String()
		case task.Artifact:
			c.Type = "artifact"
		default:
			continue
		}
		if c.Text = task.TextOf(en.Body); len(c.Text) > maxText {
			c.Text = strings.ToValidUTF8(c.Text[:maxText], "")
		}
		select {
		case v.queue <- c:
		default:
			v.lost.Add(1)
		}
	}
}

// Run publishes until ctx ends.
func (v *View) Run(ctx context.Context) error {
	v.begin()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case c := <-v.queue:
			v.publish(ctx, c)
		case <-tick.C:
			if n := v.lost.Swap(0); n > 0 && v.Logger != nil {
				v.Logger.Warn("the live view skipped events", "count", n)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (v *View) publish(ctx context.Context, c *chat) {
	ctx, stop := context.WithTimeout(ctx, publishTime)
	defer stop()
	body, err := json.Marshal(&c.Chat)
	if err == nil {
		err = v.Bus.Publish(ctx, protocol.ChatTopic, &bus.Envelope{
			ID: uuid.NewString(), Type: protocol.TypeChat, Time: c.at, Source: "hub/" + v.Hub,
			Correlation: c.correlation, Task: c.task, Label: "agent/" + string(c.Agent), Body: body,
		})
	}
	if err != nil {
		v.lost.Add(1)
	}
}
