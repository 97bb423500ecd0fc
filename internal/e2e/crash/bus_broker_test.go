package crash

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// broker describes a broker to the suite.
type broker struct {
	// through returns the address of the broker for processes that connect through a proxy.
	// addr is the address to which the proxy forwards.
	through func(proxy string) string
	addr    string
	// inside is set if the broker is part of the hub, which listens for it at addr.
	inside bool
	// freeze suspends the broker until thaw is called; it is nil if it is inside.
	freeze func(t *testing.T) (thaw func())
	// kill ends the broker, start starts it again on its folder; both are nil if it is inside.
	kill, start func(testing.TB)
	// patience divides the number of kills, for brokers that start slowly.
	patience int
}

func onNATS(t *testing.T, p natstest.Program) *broker {
	s := natstest.Start(t, p)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &broker{
		freeze:  func(t *testing.T) func() { return testenv.Suspend(t, s.PID()) },
		through: func(proxy string) string { return "nats://" + proxy },
		addr:    u.Host, kill: s.Stop, start: s.Start, patience: 1,
	}
}

func onEmbedded(t *testing.T) *broker {
	return &broker{
		through: func(proxy string) string { return "nats://" + busToken + "@" + proxy },
		addr:    hubtest.Addr(t), inside: true,
	}
}

func onRabbit(t *testing.T) *broker {
	s := rabbittest.Start(t)
	synced := false
	return &broker{
		through: func(proxy string) string { return fmt.Sprintf("amqp://guest:guest@%s/%%2F", proxy) },
		addr:    "127.0.0.1:" + strconv.Itoa(s.Port()),
		kill: func(t testing.TB) {
			if !synced {
				s.Sync(t)
				synced = true
			}
			s.Kill()
		},
		start: func(t testing.TB) { s.Launch(t) }, freeze: func(t *testing.T) func() { return s.Freeze(t) }, patience: 8,
	}
}
