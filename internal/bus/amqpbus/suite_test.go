package amqpbus_test

import (
	"context"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	bustest.Child(func(url string) (bus.Bus, error) { return &amqpbus.Bus{URL: url}, nil })
	goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit))
}

// TestSuite shares one broker, and a second one for the tests that need a broker alone; these
// run one after the other.
func TestSuite(t *testing.T) {
	t.Parallel()
	shared := rabbittest.Shared(t)
	var own *rabbittest.Server
	if os.Getenv(testenv.CI) == "1" {
		own = rabbittest.Start(t)
	}
	var exclusive sync.Mutex
	bustest.Run(t, bustest.Features{Durable: true, HidesHeld: true}, func(t *testing.T) *bustest.Broker {
		if !strings.Contains(alone, "/"+path.Base(t.Name())+"/") {
			return onBroker(shared, shared.VHost(t))
		}
		testenv.Long(t, "a test with a RabbitMQ of its own")
		exclusive.Lock()
		t.Cleanup(exclusive.Unlock)
		b := onBroker(own, own.VHost(t))
		harm(t, own, b)
		return b
	})
}

// alone are the tests that stop or fill the broker, and Once. Once counts deliveries: under the
// load of other tests RabbitMQ may close its connection with an internal error (541), and then
// redelivers.
const alone = "/Once/Restart/PublishDuringOutage/PublishAcrossOutage/NothingLost/HoldAcrossOutage/CloseDuringOutage/Full/"

// harm makes the broker of b stoppable and fillable. The broker is restored when t ends.
func harm(t *testing.T, s *rabbittest.Server, b *bustest.Broker) {
	t.Helper()
	stopped := false
	b.Stop = func(t *testing.T) {
		s.Sync(t)
		s.Kill()
		stopped = true
	}
	b.Start = func(t *testing.T) {
		s.Launch(t)
		stopped = false
	}
	b.Fill = func(t *testing.T) func() { return s.Fill(t) }
	t.Cleanup(func() {
		if stopped {
			s.Launch(t)
		}
	})
}

func onBroker(s *rabbittest.Server, address string) *bustest.Broker {
	return &bustest.Broker{
		URL:  address,
		Open: func(t *testing.T) bus.Bus { return newBus(t, address) },
		Poison: func(t *testing.T, at bus.Address, data []byte) {
			if at.Kind == bus.TopicKind {
				putAt(t, address, "parley.topics", at.Name, data)
				return
			}
			declare(t, address, at)
			putAt(t, address, "", at.Name, data)
		},
	}
}

// declare declares a missing queue as the bus does.
func declare(t *testing.T, address string, at bus.Address) {
	t.Helper()
	if _, err := rabbittest.Channel(t, address).QueueDeclarePassive(at.Name, true, false, false, false, nil); err == nil {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range newBus(t, address).Receive(ctx, bus.Subscription{At: at, Ready: cancel}) {
		t.Errorf("receive at %s: %v", at, err)
	}
}
