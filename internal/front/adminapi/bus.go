package adminapi

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/task"
)

// Bus is the hub's connection to a bus.
type Bus struct {
	// Bus is the connection. It is required.
	Bus bus.Bus
	// Kind names the broker: "embedded", "nats" or "amqp". Address is its address, without
	// credentials; it may be empty.
	Kind, Address string
	// Backlogs returns the tasks of agents at queues that have not ended. It is required.
	Backlogs func() map[task.Agent]queue.Backlog
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
	// Queues are the queues of agents, sorted by agent name; at most 100, those with the most tasks.
	Queues []QueueStatus `json:"queues,omitempty"`
}

// QueueStatus is a queue of an agent.
type QueueStatus struct {
	// Agent is the name of the agent in the hub, Queue its name on the bus.
	Agent string `json:"agent"`
	Queue string `json:"queue"`
	// Waiting is the number of tasks of this hub that no worker has, Held the number of those that
	// a worker has. Workers is the number of announced workers that are present.
	Waiting int `json:"waiting"`
	Held    int `json:"held"`
	Workers int `json:"workers"`
	// Oldest is the time at which the oldest waiting task was first published.
	Oldest *time.Time `json:"oldest,omitempty"`
}

// maxQueues limits the queues of one status.
const maxQueues = 100

// queues returns the queues that the caller may see; nil if it may see none.
func (h *Handler) queues(r *http.Request) []QueueStatus {
	if h.Bus == nil || h.Directory == nil || !h.mayRead(r, policy.AdminAgents) {
		return nil
	}
	queues, backlogs := []QueueStatus{}, h.Bus.Backlogs()
	for _, e := range h.Directory.List() {
		if e.Spec.Queue != "" {
			b := backlogs[e.Name()]
			queues = append(queues, QueueStatus{
				Agent: string(e.Name()), Queue: string(e.Spec.Queue), Waiting: b.Waiting, Held: b.Claimed, Workers: e.Workers, Oldest: moment(b.Oldest.UTC()),
			})
		}
	}
	byName := func(a, b QueueStatus) int { return cmp.Compare(a.Agent, b.Agent) }
	slices.SortFunc(queues, func(a, b QueueStatus) int {
		return cmp.Or(cmp.Compare(b.Waiting+b.Held, a.Waiting+a.Held), byName(a, b))
	})
	queues = queues[:min(len(queues), maxQueues)]
	slices.SortFunc(queues, byName)
	return queues
}

// connection returns the state of the connection to the broker; a bus that does not monitor it is up.
func (b *Bus) connection() bus.Connection {
	if b != nil {
		if m, ok := b.Bus.(bus.Monitor); ok {
			return m.Connection()
		}
	}
	return bus.Connection{Up: true}
}

// status returns the status of the bus. Queues are nil for a caller that may not see them.
func (b *Bus) status(queues []QueueStatus) *BusStatus {
	if b == nil {
		return nil
	}
	c := b.connection()
	s := &BusStatus{Kind: b.Kind, Connected: c.Up, Reason: c.Reason, Queues: queues}
	if !c.Since.IsZero() {
		since := c.Since.UTC().Truncate(time.Millisecond)
		s.Since = &since
	}
	if queues != nil {
		s.Address = b.Address
	}
	return s
}
