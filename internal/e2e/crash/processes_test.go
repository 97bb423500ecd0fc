package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

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

// killed returns the number of kills of a victim.
func (p *processes) killed(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kills[name]
}

// back returns a channel that is closed after the next start of a victim.
func (p *processes) back() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
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

// call makes a call, and repeats it until the hub answers. The URL of the request is a path;
// key, if not empty, is the caller's.
func (h *hub) call(ctx context.Context, key string, r hubtest.Request, into any) error {
	r.URL = h.URL() + r.URL
	r.Header = append(slices.Clone(r.Header), bearer(key)...)
	for {
		back := h.p.back()
		err := hubtest.Call(ctx, r, into)
		if err == nil || hubtest.Status(err) != 0 && hubtest.Status(err) != 503 {
			return err
		}
		if pause(ctx, back) != nil {
			return fmt.Errorf("%s: %w: %w", r.URL, context.Cause(ctx), err)
		}
	}
}

// bearer returns the header for a caller's key, or nil if the key is empty.
func bearer(key string) []string {
	if key == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + key}
}
