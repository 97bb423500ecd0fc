package amqpbus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// Confirmed messages of many goroutines survive kill -9. For the others the error is
// ErrUnknown, not a refusal.
func TestKillLosesNothing(t *testing.T) {
	s := rabbittest.Start(t)
	b, q := newBus(t, s.VHost(t)), bus.Queue("q")
	mustPublish(t, b, q, "first")
	s.Sync(t)
	var (
		mu        sync.Mutex
		confirmed []string
		owned     sync.WaitGroup
	)
	ctx, stop := context.WithCancel(t.Context())
	enough := make(chan struct{}, 1)
	for g := range 32 {
		owned.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", g, i)
				err := b.Publish(ctx, q, envelope(id))
				switch {
				case err == nil:
					mu.Lock()
					if confirmed = append(confirmed, id); len(confirmed) == 500 {
						enough <- struct{}{}
					}
					mu.Unlock()
				case !errors.Is(err, bus.ErrUnknown) && !errors.Is(err, bus.ErrUnavailable):
					t.Errorf("Publish = %v, want ErrUnknown or ErrUnavailable", err)
				}
			}
		})
	}
	<-enough
	s.Kill()
	stop()
	owned.Wait()
	s.Launch(t)
	missing := map[string]bool{"first": true}
	for _, id := range confirmed {
		missing[id] = true
	}
	t.Logf("%d confirmed", len(missing))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for d, err := range b.Receive(ctx, bus.Subscription{At: q, Prefetch: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		delete(missing, d.ID)
		if err := d.Ack(ctx); err != nil {
			t.Fatal(err)
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("%d confirmed messages are lost", len(missing))
}

// A frozen or full broker blocks no caller beyond its time; many publishers fill every buffer
// on the way.
func TestNothingHangs(t *testing.T) {
	s := rabbittest.Start(t)
	b, q := newBus(t, s.VHost(t)), bus.Queue("q")
	b.Timeout = time.Hour // a call that ignores its context hangs
	mustPublish(t, b, q, "1")
	large := envelope("large")
	large.Body = fmt.Appendf(nil, "%q", strings.Repeat("x", 100<<10))
	tests := []struct {
		name string
		harm func() (mend func())
		want []error // one of these
		// awaited is set if the bus learns of the harm from its broker, at any time.
		awaited bool
	}{
		{"frozen", func() func() { return s.Freeze(t) }, []error{bus.ErrUnknown, bus.ErrUnavailable}, false},
		{"full", func() func() { return s.Fill(t) }, []error{bus.ErrFull}, true},
	}
	for _, tt := range tests {
		mend := tt.harm()
		for tt.awaited && !errors.Is(publishSoon(t, b, q, large), bus.ErrFull) && t.Context().Err() == nil {
		}
		var owned sync.WaitGroup
		for range 64 {
			owned.Go(func() {
				if err := publishSoon(t, b, q, large); !isOne(err, tt.want) {
					t.Errorf("%s: Publish = %v, want one of %v", tt.name, err, tt.want)
				}
			})
		}
		owned.Wait()
		mend()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for err := errors.New("never tried"); err != nil && ctx.Err() == nil; {
			if err = b.Publish(ctx, q, envelope("after")); err != nil {
				t.Logf("%s: %v", tt.name, err)
			}
		}
		cancel()
	}
	mend := s.Fill(t)
	if err := b.Publish(t.Context(), bus.Topic("x"), envelope("opens")); err != nil {
		t.Logf("topic: %v", err)
	}
	if err := b.Close(); err != nil { // it does not wait for mend
		t.Errorf("Close of a blocked bus = %v", err)
	}
	mend()
}

// publishSoon publishes with a second to do it.
func publishSoon(t *testing.T, b *amqpbus.Bus, to bus.Address, e *bus.Envelope) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return b.Publish(ctx, to, e)
}

func isOne(err error, of []error) bool {
	for _, one := range of {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
