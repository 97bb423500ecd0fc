package crash

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// broker is what a suite needs to know of a broker.
type broker struct {
	// through returns the address of the broker as processes see it, given that of the
	// proxy; addr is where the proxy finds it.
	through func(proxy string) string
	addr    string
	// inside says that the broker is in the hub, which listens at addr for it.
	inside bool
	// commands says that hub and workers are the command, and not parts in this program.
	commands bool
	// kill ends the broker, start starts it again on its folder; both are nil if it is inside.
	kill, start func(t *testing.T)
	// patience divides how often it is killed: some take long to start.
	patience int
	// hidesHeld says that it does not tell what is held, or not truly: NATS 2.9 may go on
	// counting what was acknowledged before it was killed.
	hidesHeld bool
}

func onNATS(t *testing.T, p natstest.Program) *broker {
	s := natstest.Start(t, p)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &broker{
		through: func(proxy string) string { return "nats://" + proxy },
		addr:    u.Host, kill: s.Stop, start: s.Start, patience: 1, hidesHeld: !p.Syncs,
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
		kill: func(t *testing.T) {
			if !synced {
				s.Sync(t)
				synced = true
			}
			s.Kill()
		},
		start: func(t *testing.T) { s.Launch(t) }, patience: 8, hidesHeld: true,
	}
}
