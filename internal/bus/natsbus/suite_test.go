package natsbus_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/suite/bustest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	bustest.Child(func(url string) (bus.Bus, error) {
		return natsbus.Open(context.Background(), natsbus.Options{URL: url})
	})
	testenv.Parallel(16) // tests wait for leases and brokers
	goleak.VerifyTestMain(m)
}

var features = bustest.Features{Durable: true, Dedupes: true, Leases: true}

func TestDebian(t *testing.T)  { testProcess(t, natstest.Debian(t)) }
func TestCurrent(t *testing.T) { testProcess(t, natstest.Current(t)) }

func testProcess(t *testing.T, p natstest.Program) {
	t.Helper()
	bustest.Run(t, features, func(t *testing.T) *bustest.Broker {
		s := natstest.Start(t, p)
		b := broker(s.URL, natsbus.Options{})
		b.Stop, b.Start, b.URL = func(t *testing.T) { s.Stop(t) }, func(t *testing.T) { s.Start(t) }, s.URL
		return b
	})
}

// TestInProcess has streams in memory, which a restart loses.
func TestInProcess(t *testing.T) {
	t.Parallel()
	f := features
	f.Durable = false
	bustest.Run(t, f, func(t *testing.T) *bustest.Broker {
		s := &inProcess{dir: t.TempDir(), port: testenv.Port(t)}
		s.start(t)
		t.Cleanup(func() { s.stop(t) })
		b := broker(s.ClientURL(), natsbus.Options{Memory: true})
		b.Stop, b.Start, b.URL = s.stop, s.start, s.ClientURL()
		return b
	})
}

type inProcess struct {
	*server.Server
	dir  string
	port int
}

func (s *inProcess) start(t *testing.T) {
	t.Helper()
	var err error
	s.Server, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: s.port, JetStream: true, StoreDir: s.dir, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	if a, ok := s.Addr().(*net.TCPAddr); ok {
		s.port = a.Port
	}
}

func (s *inProcess) stop(*testing.T) {
	s.Shutdown()
	s.WaitForShutdown()
}

// broker returns the functions that the suite needs of a server.
func broker(url string, o natsbus.Options) *bustest.Broker {
	return &bustest.Broker{
		Open:   func(t *testing.T) bus.Bus { return open(t, url, o) },
		Poison: func(t *testing.T, at bus.Address, data []byte) { poison(t, url, at, data) },
		Fill:   func(t *testing.T) func() { return fill(t, url) },
	}
}

func open(t *testing.T, url string, o natsbus.Options) *natsbus.Bus {
	t.Helper()
	o.URL = url
	if os.Getenv("PARLEY_TEST_LOG") != "" {
		o.Logger = slog.Default()
	}
	b, err := natsbus.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// connect returns a plain NATS client.
func connect(t *testing.T, url string) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc := natstest.Connect(t, url)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func poison(t *testing.T, url string, at bus.Address, data []byte) {
	t.Helper()
	nc, js := connect(t, url)
	var err error
	if at.Kind == bus.TopicKind {
		if err = nc.Publish("parley.topic."+at.Name, data); err == nil {
			err = nc.Flush()
		}
	} else {
		_, err = js.Publish(t.Context(), "parley.queue."+at.Name, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fill limits the stream to the size of its content.
func fill(t *testing.T, url string) func() {
	t.Helper()
	_, js := connect(t, url)
	limit := func(n int64) {
		t.Helper()
		s, err := js.Stream(t.Context(), natsbus.DefaultStream)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		c.MaxBytes = n
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	limit(1000)
	return func() { limit(-1) }
}
