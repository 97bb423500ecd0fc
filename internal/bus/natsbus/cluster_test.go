package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestCluster kills each of three servers in turn, while envelopes are sent and received. None is lost.
func TestCluster(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "a cluster of three servers")
	c := natstest.StartCluster(t, natstest.Current(t))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	sender, receiver := open(t, c.URL, natsbus.Options{}), open(t, c.URL, natsbus.Options{})
	defer sender.Close()
	defer receiver.Close()
	queue, n := bus.Queue("agent.task.worker"), 0
	insist := func() {
		e := &bus.Envelope{ID: fmt.Sprint("e", n), Type: "test", Source: "hub/test", Body: []byte("{}")}
		n++
		for ctx.Err() == nil {
			err := sender.Publish(ctx, queue, e)
			if err == nil {
				return
			}
			if !errors.Is(err, bus.ErrUnavailable) && !errors.Is(err, bus.ErrUnknown) {
				t.Fatalf("Publish = %v", err)
			}
			_ = backoff.Sleep(ctx, 20*time.Millisecond) // as callers do
		}
		t.Fatal("the cluster accepts nothing")
	}
	for i := 0; i < 30; i++ {
		insist()
	}
	_, js := connect(t, c.URL)
	s, err := js.Stream(ctx, natsbus.DefaultStream)
	if err != nil || s.CachedInfo().Config.Replicas != 3 {
		t.Fatalf("stream = %+v, %v; want 3 replicas", s, err)
	}
	got, all := map[string]bool{}, make(chan struct{})
	sent := make(chan int, 1)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(all)
		want := -1
		for d, err := range receiver.Receive(listening, bus.Subscription{At: queue, Lease: 2 * time.Second}) {
			if err != nil {
				continue
			}
			got[d.Envelope.ID] = true
			_ = d.Ack(ctx) // it comes again if this fails
			select {
			case want = <-sent:
			default:
			}
			if len(got) == want {
				return
			}
		}
	}()
	for _, server := range c.Servers {
		server.Stop(t)
		for range 30 {
			insist()
		}
		server.Start(t)
		for range 30 {
			insist()
		}
	}
	sent <- n + 1
	insist()
	select {
	case <-all:
	case <-ctx.Done():
		t.Errorf("%d of %d envelopes arrived", len(got), n)
	}
}
