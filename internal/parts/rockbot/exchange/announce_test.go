package exchange_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/task"
)

// announcing is a server of an agent that gets no requests.
type announcing struct{ exchange.Server }

func (announcing) Card(task.Agent) *a2a.AgentCard { return &a2a.AgentCard{Description: "Repeats."} }

// TestAnnouncedAgain wants an agent of the hub to be announced at the start and after each interval, which is 2 min
// unless set, and deregistered at the end.
func TestAnnouncedAgain(t *testing.T) {
	t.Parallel()
	if exchange.AnnounceEvery != 2*time.Minute {
		t.Errorf("agents are announced every %v", exchange.AnnounceEvery)
	}
	b := &amqpbus.Bus{URL: rabbittest.Shared(t).VHost(t)}
	cards := make(chan *exchange.Announcement, 1000)
	listener := &exchange.Exchange{Bus: b, Name: "listener", Announced: func(n *exchange.Announcement) error {
		select {
		case cards <- n:
		default:
		}
		return nil
	}}
	host := &exchange.Exchange{Bus: b, Name: "parley", Interval: 10 * time.Millisecond}
	listening, end := context.WithCancel(context.Background())
	serving, stop := context.WithCancel(listening)
	var all sync.WaitGroup
	all.Go(func() { _ = listener.Run(listening) })
	all.Go(func() { _ = host.Serve(serving, "echo", announcing{}) })
	t.Cleanup(func() {
		stop()
		end()
		all.Wait()
		_ = b.Close()
	})
	late := time.After(patience)
	for n := 0; ; n++ {
		select {
		case got := <-cards:
			if got.Card.Name != "echo" || got.Card.Description != "Repeats." {
				t.Fatalf("announcement %+v", got.Card)
			}
			if got.Leaves {
				if n < 3 {
					t.Errorf("it is deregistered after %d announcements", n)
				}
				return
			}
			if n == 2 {
				stop()
			}
		case <-late:
			t.Fatalf("%d announcements have arrived", n)
		}
	}
}
