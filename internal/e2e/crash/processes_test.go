package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// patience is the time limit of a scenario, including all restarts of its hubs.
const patience = 4 * time.Minute

// victim is a process that is killed and started again.
type victim struct {
	name  string
	kill  func()
	start func() error
}

// processes kills victims, and counts the kills.
type processes struct {
	striking sync.Mutex     // held while a victim is dead
	mending  sync.WaitGroup // pending strikes

	mu      sync.Mutex // guards the fields below
	up      chan struct{}
	strikes int
	kills   map[string]int // by the name of the victim
	slow    time.Duration  // the slowest start
}

func newProcesses() *processes { return &processes{up: make(chan struct{}), kills: map[string]int{}} }

// strike kills victims, calls dead, and starts the victims again.
func (p *processes) strike(dead func(), victims ...victim) error {
	p.striking.Lock()
	defer p.striking.Unlock()
	for _, v := range victims {
		v.kill()
	}
	dead()
	var slow time.Duration
	for _, v := range victims {
		began := time.Now()
		if err := v.start(); err != nil {
			return fmt.Errorf("start %s again: %w", v.name, err)
		}
		slow = max(slow, time.Since(began))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strikes++
	p.slow = max(p.slow, slow)
	for _, v := range victims {
		p.kills[v.name]++
	}
	close(p.up)
	p.up = make(chan struct{})
	return nil
}

// hit strikes victims within later without blocking the caller. If later is zero, the victims
// are dead when it returns. mending waits for the strike.
func (p *processes) hit(later time.Duration, failed func(...any), victims ...victim) {
	dead := make(chan struct{})
	p.mending.Go(func() {
		over := func() { close(dead) }
		if later > 0 {
			close(dead)
			over = func() {}
			<-time.After(rand.N(later))
		}
		if err := p.strike(over, victims...); err != nil {
			failed(err)
		}
	})
	<-dead
}

// pause waits until a victim was started again, or for a moment.
func pause(ctx context.Context, back <-chan struct{}) error {
	timer := time.NewTimer(10*time.Millisecond + rand.N(20*time.Millisecond))
	defer timer.Stop()
	select {
	case <-back:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hub is a hub that the scenarios kill.
type hub struct {
	*hubtest.Hub
	p    *processes
	name string
}

func (h *hub) victim() victim { return victim{h.name, h.Kill, h.Start} }
