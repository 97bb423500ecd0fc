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

// nothingHangs wants a frozen or full broker to block no caller beyond its time. Many publishers fill every buffer
// on the way.
func nothingHangs(t *testing.T, s *rabbittest.Server) {
	t.Helper()
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
