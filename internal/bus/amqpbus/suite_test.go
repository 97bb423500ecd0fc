package amqpbus_test

import (
	"context"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/amqpbus"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	bustest.Child(func(url string) (bus.Bus, error) { return &amqpbus.Bus{URL: url}, nil })
	goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit))
}

// TestSuite shares one broker, and a second one for the tests that need a broker alone; these
// run one after the other. In the other tests of an outage the broker is out of reach, which is the same to a bus.
func TestSuite(t *testing.T) {
	t.Parallel()
	shared := rabbittest.Shared(t)
	var own *rabbittest.Server
	if os.Getenv(testenv.CI) == "1" {
		own = rabbittest.Start(t)
	}
	var exclusive sync.Mutex
	lock := func(t *testing.T) {
		t.Helper()
		testenv.Long(t, "a test with a RabbitMQ of its own")
		exclusive.Lock()
		t.Cleanup(exclusive.Unlock)
	}
	bustest.Run(t, bustest.Features{Durable: true, HidesHeld: true}, func(t *testing.T) *bustest.Broker {
		name := "/" + path.Base(t.Name()) + "/"
		switch {
		case strings.Contains(alone, name):
			lock(t)
			b := onBroker(own.VHost(t))
			harm(t, own, b)
			return b
		case strings.Contains(unreachable, name):
			return behindLink(t, shared)
		default:
			return onBroker(shared.VHost(t))
		}
	})
	t.Run("NothingHangs", func(t *testing.T) {
		t.Parallel()
		lock(t)
		nothingHangs(t, own)
	})
}

// alone are the tests that stop or fill the broker, and Once. Once counts deliveries: under the
// load of other tests RabbitMQ may close its connection with an internal error (541), and then
// redelivers.
const alone = "/Once/Restart/NothingLost/Full/"

// unreachable are the tests of an outage that need no restart of the broker.
const unreachable = "/PublishDuringOutage/PublishAcrossOutage/HoldAcrossOutage/CloseDuringOutage/"

// behindLink returns a virtual host of s behind a link, which refuses connections while the broker is stopped.
func behindLink(t *testing.T, s *rabbittest.Server) *bustest.Broker {
	t.Helper()
	u, err := url.Parse(s.VHost(t))
	if err != nil {
		t.Fatal(err)
	}
	link := linktest.New(t, u.Host)
	u.Host = link.Addr()
	b := onBroker(u.String())
	b.Stop = func(*testing.T) { link.Refuse(true) }
	b.Start = func(*testing.T) { link.Refuse(false) }
	return b
}

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

func onBroker(address string) *bustest.Broker {
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
