package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// run starts a server in the process.
func run(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog, o.StoreDir = "127.0.0.1", true, true, t.TempDir()
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return s
}

func letter(id string) *bus.Envelope {
	return &bus.Envelope{ID: id, Type: "test", Source: "worker/test"}
}

func TestOpenIdentifies(t *testing.T) {
	t.Parallel()
	user := run(t, server.Options{JetStream: true, Username: "u", Password: "geheim"}).ClientURL()
	token := run(t, server.Options{JetStream: true, Authorization: "geheim"}).ClientURL()
	host := func(url string) string { return strings.TrimPrefix(url, "nats://") }
	for _, tt := range []struct {
		o  natsbus.Options
		ok bool
	}{
		{natsbus.Options{URL: user, User: "u", Password: "geheim"}, true},
		{natsbus.Options{URL: "nats://u:geheim@" + host(user)}, true},
		{natsbus.Options{URL: token, Token: "geheim"}, true},
		{natsbus.Options{URL: "nats://geheim@" + host(token)}, true},
		{natsbus.Options{URL: user}, false},
		{natsbus.Options{URL: user, User: "u", Password: "geheimnis"}, false},
		{natsbus.Options{URL: "nats://u:geheimnis@" + host(user)}, false},
		{natsbus.Options{URL: token, Token: "geheimnis"}, false},
		{natsbus.Options{URL: token, Credentials: "/no/such/file"}, false},
		{natsbus.Options{URL: "nats://[::"}, false},
		{natsbus.Options{URL: "nats://u:geheim@h:port"}, false},
		{natsbus.Options{URL: "nats://u:geheim/nis@h:4222"}, false},
		{natsbus.Options{URL: user, Timeout: -1}, false},
	} {
		b, err := natsbus.Open(t.Context(), tt.o)
		if (err == nil) != tt.ok {
			t.Errorf("Open(%+v) = %v, want success %v", tt.o, err, tt.ok)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error %q has the secret", err)
		}
		if b != nil {
			_ = b.Close()
		}
	}
}

func TestOpenWithoutJetStream(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	b, err := natsbus.Open(ctx, natsbus.Options{URL: s.ClientURL()})
	if err != nil {
		t.Logf("Open = %v", err)
		return
	}
	defer b.Close()
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		// A try that has no response yet at the deadline has an unknown outcome, which is rare.
		if err = b.Publish(ctx, protocol.JobAt("echo"), letter("a")); !errors.Is(err, bus.ErrUnknown) {
			break
		}
	}
	if !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("Publish = %v, want ErrUnavailable", err)
	}
}

func TestOpenWrongStream(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	_, js := connect(t, s.ClientURL())
	for name, c := range map[string]jetstream.StreamConfig{
		"LIMITS": {Subjects: []string{"parley.queue.>"}},
		"OTHER":  {Subjects: []string{"other.>"}, Retention: jetstream.WorkQueuePolicy},
	} {
		c.Name = name
		if _, err := js.CreateOrUpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		b, err := natsbus.Open(t.Context(), natsbus.Options{URL: s.ClientURL(), Stream: name})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Open with a stream that has %v, %s = %v, want an error that names it", c.Subjects, c.Retention, err)
		}
		if b != nil {
			_ = b.Close()
		}
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpenDoesNotWait opens a bus with a time-out of an hour while its server is unreachable.
func TestOpenDoesNotWait(t *testing.T) {
	t.Parallel()
	log := new(lines)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := natsbus.Open(ctx, natsbus.Options{
		URL: "nats://u:geheim@" + testenv.Addr(t), Timeout: time.Hour, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil || ctx.Err() != nil {
		t.Fatalf("Open = %v, and has waited until %v", err, ctx.Err())
	}
	defer b.Close()
	if !log.has("not reachable yet") || !log.has("no servers available") || log.has("geheim") {
		t.Errorf("the log is %s, want that the server is not reachable, without the secret", log.String())
	}
}

func TestOpenWithoutServer(t *testing.T) {
	t.Parallel()
	port := testenv.Port(t)
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: fmt.Sprint("nats://127.0.0.1:", port), Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, to := range []bus.Address{protocol.JobAt("echo"), protocol.Discovery} {
		if err := b.Publish(t.Context(), to, letter("a")); !errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("Publish(%s) = %v, want ErrUnavailable", to, err)
		}
	}
	run(t, server.Options{JetStream: true, Port: port})
	for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Ready: func() {
		err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("b"))
		// On a busy machine the server may take longer than the Timeout.
		for (errors.Is(err, bus.ErrUnknown) || errors.Is(err, bus.ErrUnavailable)) && t.Context().Err() == nil {
			err = b.Publish(t.Context(), protocol.JobAt("echo"), letter("b"))
		}
		if err != nil {
			t.Errorf("Publish = %v", err)
		}
	}}) {
		if err != nil || d.ID != "b" {
			t.Errorf("Receive yields %+v, %v, want b", d, err)
		}
		break
	}
}

// TestStableNames checks the names that are part of the configuration of autoscalers.
func TestStableNames(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true})
	b := open(t, s.ClientURL(), natsbus.Options{})
	defer b.Close()
	if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Fatal(err)
	}
	for _, lease := range []time.Duration{0, time.Minute} {
		for d, err := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Lease: lease}) {
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Nak(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			break
		}
		_, js := connect(t, s.ClientURL())
		c, err := js.Consumer(t.Context(), "PARLEY", "agent+task+echo")
		if err != nil {
			t.Fatal(err)
		}
		want := lease
		if lease == 0 {
			want = bus.DefaultLease
		}
		got := c.CachedInfo().Config
		if got.FilterSubject != "parley.queue.agent.task.echo" || got.AckWait != want || got.MaxDeliver != -1 {
			t.Errorf("consumer with lease %v is %+v", want, got)
		}
	}
	names := map[string]string{}
	for _, name := range []string{"a.b", "a-b", "a_b", "ab", "A.b"} {
		c := natsbus.ConsumerName(bus.Queue(name))
		if other, ok := names[c]; ok || strings.ContainsAny(c, ".*> ") {
			t.Errorf("queue %s has consumer %q, as has %q", name, c, other)
		}
		names[c] = name
	}
}

// lines is a log that a test reads.
type lines struct{ testenv.Buffer }

func (l *lines) has(part string) bool {
	return strings.Contains(l.String(), part)
}

// TestLog has a slow reader, an envelope that goes to Dead, and a lost connection.
func TestLog(t *testing.T) {
	t.Parallel()
	log := new(lines)
	s := &inProcess{dir: t.TempDir(), port: testenv.Port(t)}
	s.start(t)
	defer func() { s.stop(t) }()
	b, err := natsbus.Open(t.Context(), natsbus.Options{
		URL: s.ClientURL(), Memory: true, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	big := letter("big")
	big.Source = strings.Repeat("x", 900<<10)
	ready := make(chan struct{}, 9)
	go func() { // ends when the first big one arrives
		<-ready
		for range 12 {
			if err := b.Publish(t.Context(), protocol.Discovery, big); err != nil {
				t.Errorf("Publish = %v", err)
			}
		}
		if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("end")); err != nil {
			t.Errorf("Publish = %v", err)
		}
	}()
	for range b.Receive(t.Context(), bus.Subscription{At: protocol.Discovery, Ready: func() { ready <- struct{}{} }}) {
		for d := range b.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo")}) {
			if err := d.DeadLetter(t.Context(), "it smells"); err != nil {
				t.Error(err)
			}
			break
		}
		break
	}
	s.stop(t)
	s.start(t)
	if err := b.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"slow reader loses", "it smells", "connection lost", "bus: connected"} {
		if !log.has(want) {
			t.Errorf("the log does not say %q", want)
		}
	}
}

// TestTokensAreNotLogged checks that a token within an address is not logged.
func TestTokensAreNotLogged(t *testing.T) {
	t.Parallel()
	s := run(t, server.Options{JetStream: true, Authorization: "geheim"})
	log := new(lines)
	url := strings.Replace(s.ClientURL(), "nats://", "nats://geheim@", 1)
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: url, Memory: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if !log.has("bus: connected") || log.has("geheim") {
		t.Error("the log does not have the server without its token")
	}
}
