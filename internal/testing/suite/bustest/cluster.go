package bustest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus"
)

// Node is a server of a cluster. Kill and Start end its process and start it again.
type Node struct{ Kill, Start func(t *testing.T) }

// Cluster kills the nodes of a cluster one after the other, while envelopes are sent and received. None may be
// lost. sender and receiver have the addresses of all nodes; Cluster closes them.
func Cluster(t *testing.T, sender, receiver bus.Bus, nodes []Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	defer closeBus(t, sender)
	defer closeBus(t, receiver)
	n := 0
	send := func(several int) {
		for range several {
			n++
			insist(ctx, t, sender, &bus.Envelope{ID: fmt.Sprint("e", n), Type: "test", Source: "hub/test", Body: []byte("{}")})
		}
	}
	send(30)
	got, last := map[string]bool{}, make(chan int, 1)
	var receiving sync.WaitGroup
	receiving.Go(func() {
		want := 0
		for d, err := range receiver.Receive(ctx, bus.Subscription{At: queue, Lease: 2 * time.Second}) {
			if err != nil {
				continue
			}
			got[d.Envelope.ID] = true
			_ = d.Ack(ctx) // it comes again if this fails
			select {
			case want = <-last:
			default:
			}
			if len(got) == want {
				return
			}
		}
	})
	for i := range nodes {
		nodes[i].Kill(t)
		send(30)
		nodes[i].Start(t)
		send(30)
	}
	last <- n + 1
	send(1)
	receiving.Wait()
	if len(got) != n {
		t.Errorf("%d of %d envelopes arrived", len(got), n)
	}
}

func closeBus(t *testing.T, b bus.Bus) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// insist publishes until the cluster accepts the envelope, as callers do.
func insist(ctx context.Context, t *testing.T, b bus.Bus, e *bus.Envelope) {
	t.Helper()
	for {
		err := b.Publish(ctx, queue, e)
		if err == nil {
			return
		}
		if !errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrUnknown) || backoff.Sleep(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("Publish of %s = %v", e.ID, err)
		}
	}
}
