package embedded_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// restarting is a server that is stopped and started again at the same address.
type restarting struct {
	*embedded.Server
	options embedded.Options
}

func startRestarting(t *testing.T) *restarting {
	t.Helper()
	r := &restarting{options: embedded.Options{Listen: testenv.Addr(t), Token: "secret"}}
	r.start(t)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return r
}

func (r *restarting) start(t *testing.T) {
	t.Helper()
	s, err := embedded.Start(r.options)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
}

func (r *restarting) restart(t *testing.T) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.start(t)
}

// connect returns a bus that reconnects after a restart. It does not depend on the timeout of
// requests.
func (r *restarting) connect(t *testing.T) *natsbus.Bus {
	t.Helper()
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: r.Contact().URL, Token: r.Contact().Token, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (r *restarting) publish(t *testing.T, ids ...string) {
	t.Helper()
	own := open(t, r.Server)
	defer own.Close()
	for _, id := range ids {
		if err := own.Publish(t.Context(), protocol.JobAt("echo"), letter(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// holder is a worker that settles nothing by itself.
type holder struct {
	deliveries chan *bus.Delivery
	ready      chan struct{} // gets a value at each connection
	leave      context.CancelFunc
	left       chan struct{}
}

func hold(t *testing.T, b bus.Bus, prefetch int) *holder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := &holder{deliveries: make(chan *bus.Delivery, 10), ready: make(chan struct{}, 10), leave: cancel, left: make(chan struct{})}
	go func() {
		defer close(h.left)
		s := bus.Subscription{At: protocol.JobAt("echo"), Prefetch: prefetch, Ready: func() { h.ready <- struct{}{} }}
		for d, err := range b.Receive(ctx, s) {
			switch {
			case errors.Is(err, bus.ErrClosed):
				return
			case err != nil:
				t.Errorf("receive: %v", err)
				return
			}
			h.deliveries <- d
		}
	}()
	t.Cleanup(func() { cancel(); <-h.left })
	<-h.ready
	return h
}

// want waits for the delivery of an envelope.
func (h *holder) want(t *testing.T, id string) *bus.Delivery {
	t.Helper()
	select {
	case d := <-h.deliveries:
		if d.ID != id {
			t.Fatalf("%s arrives, want %s", d.ID, id)
		}
		return d
	case <-time.After(time.Minute):
		t.Fatalf("%s does not arrive", id)
		return nil
	}
}

// TestLateAckAfterRestart: a worker that holds a delivery from before a restart of the server
// acknowledges it afterwards. That must not remove an envelope that was published since, and
// that another worker holds.
func TestLateAckAfterRestart(t *testing.T) {
	t.Parallel()
	s := startRestarting(t)
	slow := s.connect(t)
	first := hold(t, slow, 1)
	s.publish(t, "old")
	old := first.want(t, "old")
	s.restart(t)
	<-first.ready
	s.publish(t, "new")
	second := hold(t, s.connect(t), 1)
	second.want(t, "new")
	if err := old.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := slow.Close(); err != nil { // the server has received the acknowledgement
		t.Fatal(err)
	}
	second.leave() // it returns its data
	<-second.left
	hold(t, s.connect(t), 1).want(t, "new")
}

// TestHeldAfterRestart: deliveries from before a restart of the server still occupy their
// receiver. It requests no more envelopes than it has places for.
func TestHeldAfterRestart(t *testing.T) {
	t.Parallel()
	s := startRestarting(t)
	busy := hold(t, s.connect(t), 2)
	s.publish(t, "old")
	busy.want(t, "old")
	s.restart(t)
	<-busy.ready
	s.publish(t, "new")
	busy.want(t, "new")
	s.publish(t, "more")
	hold(t, s.connect(t), 1).want(t, "more")
}

// TestCloseWithoutServer closes a bus that holds a delivery while its server stops. It must not
// wait for answers that cannot come.
func TestCloseWithoutServer(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := startRestarting(t)
		b := s.connect(t)
		h := hold(t, b, 1)
		s.publish(t, "a")
		h.want(t, "a")
		var stopped sync.WaitGroup
		stopped.Go(func() { _ = s.Close() })
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		stopped.Wait()
		<-h.left
	}
}
