// Package livefeed tells on a bus what agents elsewhere say, while they say it, for
// programs that show it to people.
//
// # Guarantees
//
// Each status and artifact that an agent at a queue or at another address has said is
// published at protocol.ChatTopic, in the order within its task, after it is durable. Nobody
// who runs or reads a task waits for that.
//
// # What it does not promise
//
// It is a view, not a record: where the bus is slower than agents, or not there, things are
// left out, and the log says how many. Texts are cut at 8 KiB.
//
// # Concurrency
//
// A View is safe for concurrent use. Run is the only one who publishes.
//
// # Testing
//
// The tests use bus.Memory.
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

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

const (
	// room is how much waits to be published.
	room = 1024
	// maxText is the length of the longest text in bytes.
	maxText = 8 << 10
	// publishTime is how long one of them may take.
	publishTime = 2 * time.Second
	// tellEvery is the time between two records of what was left out.
	tellEvery = time.Minute
)

// View is a live view. Bus is required.
type View struct {
	Bus bus.Bus
	// Hub is the id of the hub.
	Hub string
	// Logger is told when things are left out. If nil, nobody is.
	Logger *slog.Logger

	once  sync.Once
	queue chan *chat
	lost  atomic.Int64
}

// chat is one thing that waits to be published.
type chat struct {
	protocol.Chat
	task, correlation string
	at                task.Millis
}

func (v *View) begin() { v.once.Do(func() { v.queue = make(chan *chat, room) }) }

// Kinds are the kinds of agents that run elsewhere, for engine.Observer.
var Kinds = []string{"remote", "queue"}

// Output puts output of an agent in line to be published. It returns at once.
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
				v.Logger.Warn("the live view has left things out", "count", n)
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
