package adminapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// Bus is the place of a hub on a bus.
type Bus struct {
	// Bus is required.
	Bus bus.Bus
	// Kind names the broker: "embedded", "nats" or "amqp". Address is where it is, without
	// credentials; it may be empty.
	Kind, Address string
}

// BusStatus is what /api/v1/status says of the bus. Administrators alone are told of the
// address and the queues.
type BusStatus struct {
	Kind    string `json:"kind"`
	Address string `json:"address,omitempty"`
	// Connected says whether there is a connection, Since for how long that has been so, and
	// Reason why there is none.
	Connected bool       `json:"connected"`
	Since     *time.Time `json:"since,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	// Queues are those of agents, by the names of their agents; at most maxQueues.
	Queues []QueueStatus `json:"queues,omitempty"`
}

// QueueStatus is a queue of an agent.
type QueueStatus struct {
	// Agent is the name of the agent in the hub, Queue that on the bus.
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Waiting messages have no worker yet, Held ones are with one, as far as the broker
	// tells. Workers is how many have announced themselves and are there.
	Waiting int64 `json:"waiting"`
	Held    int64 `json:"held"`
	Workers int   `json:"workers"`
	// Error says why nothing is known of the queue.
	Error string `json:"error,omitempty"`
}

// What is asked of the broker for one status.
const (
	maxQueues  = 100
	depthsTime = 2 * time.Second
	depthsOnce = 8
)

// queues returns the queues that the caller may know of, without what is in them.
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
	slices.SortFunc(queues, func(a, b QueueStatus) int { return cmp.Compare(a.Agent, b.Agent) })
	return queues[:min(len(queues), maxQueues)]
}

// status returns how the bus is. Queues are nil for a caller who is not to know of them.
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
		tell(queues, "there is no connection to the broker")
	}
	return s
}

// depths asks the broker what is in the queues, as long as there is time.
func (b *Bus) depths(ctx context.Context, queues []QueueStatus) {
	o, ok := b.Bus.(bus.Operator)
	if !ok {
		tell(queues, "the bus does not tell")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, depthsTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(depthsOnce)
	for i := range queues {
		q := &queues[i]
		group.Go(func() error {
			d, err := o.Depth(ctx, protocol.WorkAt(task.Agent(q.Queue)))
			if q.Waiting, q.Held = d.Ready, d.Held; err != nil {
				q.Error = "the broker does not say: " + strings.ToValidUTF8(err.Error(), "?")
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the queues
}

func tell(queues []QueueStatus, why string) {
	for i := range queues {
		queues[i].Error = why
	}
}
