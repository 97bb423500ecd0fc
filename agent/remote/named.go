package remote

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/task"
)

// maxNamed is how many contexts without a task are remembered.
const maxNamed = 10_000

// contextKey identifies a context of a caller.
type contextKey struct {
	owner task.Owner
	id    string
}

// named holds the contexts that the agent has named in bare messages, of which no task remains.
// The zero named is empty.
type named struct {
	mu  sync.Mutex // guards the field below
	all map[contextKey]string
}

func (n *named) get(key contextKey) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.all[key]
}

func (n *named) put(key contextKey, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil || len(n.all) >= maxNamed {
		n.all = make(map[contextKey]string)
	}
	n.all[key] = id
}

// findEarlierContext finds the context that the peer has named for earlier messages of the
// caller's context.
func (r *run) findEarlierContext(ctx context.Context) error {
	if !r.agent.NoContext || r.h.Task != "" {
		return nil
	}
	if r.earlier = r.agent.named.get(contextKey{r.owner, r.ec.ContextID}); r.earlier != "" {
		return nil
	}
	saved, err := r.call.EarlierCheckpoint(ctx)
	if err != nil {
		return err
	}
	h, err := decodeHandle(saved)
	r.earlier = h.Context
	return err
}
