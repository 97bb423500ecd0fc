package adminapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/internal/order"
	"github.com/parley-a2a/parley/task"
)

// Bus is the hub's connection to a bus.
type Bus struct {
	// Bus is the connection. It is required.
	Bus bus.Bus
	// Kind names the broker: "embedded", "nats" or "amqp". Address is its address, without
	// credentials; it may be empty.
	Kind, Address string
}

// BusStatus is the part of /api/v1/status about the bus. Only administrators get the address
// and the queues.
type BusStatus struct {
	Kind    string `json:"kind"`
	Address string `json:"address,omitempty"`
	// Connected reports whether the broker is connected, Since the time of the last change, and
	// Reason the cause of a disconnect.
	Connected bool       `json:"connected"`
	Since     *time.Time `json:"since,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	// Queues are the queues of agents, sorted by agent name; at most maxQueues.
	Queues []QueueStatus `json:"queues,omitempty"`
}

// QueueStatus is a queue of an agent.
type QueueStatus struct {
	// Agent is the name of the agent in the hub, Queue its name on the bus.
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Waiting is the number of messages without a worker, Held the number of those held by a
	// worker, as far as the broker reports them. Workers is the number of announced workers
	// that are present.
	Waiting int64 `json:"waiting"`
	Held    int64 `json:"held"`
	Workers int   `json:"workers"`
	// Error is the reason why the numbers are unknown.
	Error string `json:"error,omitempty"`
}

// Limits of the queries to the broker for one status.
const (
	maxQueues  = 100
	depthsTime = 2 * time.Second
	depthsOnce = 8
)

// queues returns the queues that the caller may see, without their depths.
func (h *Handler) queues(r *http.Request) []QueueStatus {
	if h.Bus == nil || h.Directory == nil || !h.mayRead(r, policy.AdminAgents) {
		return nil
	}
	queues := []QueueStatus{}
	for _, e := range h.Directory.List() {
		if e.Spec.Queue != "" {
			queues = append(queues, QueueStatus{Agent: string(e.Name()), Queue: string(e.Spec.Queue), Workers: e.Workers})
		}
	}
	order.Sort(queues, func(a, b *QueueStatus) int { return cmp.Compare(a.Agent, b.Agent) })
	return queues[:min(len(queues), maxQueues)]
}

// status returns the status of the bus. Queues are nil for a caller that may not see them.
func (b *Bus) status(ctx context.Context, queues []QueueStatus) *BusStatus {
	if b == nil {
		return nil
	}
	s := &BusStatus{Kind: b.Kind, Connected: true, Queues: queues}
	if m, ok := b.Bus.(bus.Monitor); ok {
		c := m.Connection()
		s.Connected, s.Reason = c.Up, c.Reason
		if !c.Since.IsZero() {
			since := c.Since.UTC().Truncate(time.Millisecond)
			s.Since = &since
		}
	}
	if queues == nil {
		return s
	}
	s.Address = b.Address
	if s.Connected {
		b.depths(ctx, queues)
	} else {
		setUnknown(queues, "there is no connection to the broker")
	}
	return s
}

// depths queries the broker for the depths of the queues, within depthsTime.
func (b *Bus) depths(ctx context.Context, queues []QueueStatus) {
	o, ok := b.Bus.(bus.Operator)
	if !ok {
		setUnknown(queues, "the bus does not report it")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, depthsTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(depthsOnce)
	for i := range queues {
		q := &queues[i]
		group.Go(func() error {
			d, err := o.Depth(ctx, protocol.JobAt(task.Agent(q.Queue)))
			if q.Waiting, q.Held = d.Ready, d.Held; err != nil {
				q.Error = "the broker does not say: " + strings.ToValidUTF8(err.Error(), "?")
			}
			return nil
		})
	}
	_ = group.Wait() // errors are stored in the queues
}

func setUnknown(queues []QueueStatus, why string) {
	for i := range queues {
		queues[i].Error = why
	}
}
