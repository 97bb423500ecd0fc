package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/natsbus/embedded"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// agents accepts keys of the form "key-" and the agent's name.
func agents(key, _ string) (embedded.Credential, bool) {
	name, ok := strings.CutPrefix(key, "key-")
	return embedded.Credential{Key: name, Agent: name}, ok
}

// worker connects as a worker of an agent does.
func worker(t *testing.T, s *embedded.Server, agent string) bus.Bus {
	t.Helper()
	b, err := natsbus.Open(t.Context(), natsbus.Options{URL: s.Contact().URL, Token: "key-" + agent, Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// raw connects a plain NATS client with a key. It ignores refusals of the server.
func raw(t *testing.T, s *embedded.Server, agent string) *nats.Conn {
	t.Helper()
	return connect(t, s.Contact().URL, nats.Token("key-"+agent), nats.CustomInboxPrefix(natsbus.Inbox(agent)),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// first returns the first envelope that arrives.
func first(t *testing.T, b bus.Bus, at bus.Address) *bus.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for d, err := range b.Receive(ctx, bus.Subscription{At: at}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Ack(ctx); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatalf("nothing arrives at %s", at)
	return nil
}

// TestNameAsSpelled: names on the bus keep their spelling, with and without a key.
func TestNameAsSpelled(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: agents})
	own := open(t, s)
	defer own.Close()
	for _, name := range []string{"PaperFinder", "paperfinder", "a.B_c-9"} {
		w := worker(t, s, name)
		if err := own.Publish(t.Context(), protocol.JobAt(task.Agent(name)), letter(name)); err != nil {
			t.Fatal(err)
		}
		if got := first(t, w, protocol.JobAt(task.Agent(name))).ID; got != name {
			t.Errorf("at the queue of %s arrives %s", name, got)
		}
	}
}

// TestSenderIsAuthenticated: at its topics the hub learns to which agent the sender belongs,
// whatever the sender claims. It learns nothing about clients without a key, and nothing at
// queues.
func TestSenderIsAuthenticated(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: agents})
	own := open(t, s)
	defer own.Close()
	local, err := natsbus.Open(t.Context(), natsbus.Options{URL: s.Contact().URL, Token: s.Contact().Token})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	publishers := map[string]bus.Bus{"": local, "echo": worker(t, s, "echo")}
	for _, at := range []bus.Address{protocol.ReportAt("h1"), protocol.ControlAt("h1"), protocol.Discovery, bus.Dead} {
		for from, b := range publishers {
			ready, got := make(chan struct{}), make(chan *bus.Delivery, 1)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for d, err := range own.Receive(ctx, bus.Subscription{At: at, Ready: func() { close(ready) }}) {
					if err == nil {
						_ = d.Ack(ctx)
						got <- d
					}
					return
				}
			}()
			<-ready
			e := letter(fmt.Sprintf("%s-%s", at.Name, from))
			e.Source = "worker/other.1"
			if err := b.Publish(t.Context(), at, e); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			want := from
			if at.Kind == bus.QueueKind {
				want = ""
			}
			if d := <-got; d.From != want || d.ID != e.ID {
				t.Errorf("%s: %s is from %q, want %q", at, d.ID, d.From, want)
			}
			cancel()
			<-done
		}
	}
	nc := raw(t, s, "echo")
	received := make(chan *bus.Delivery, 1)
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d := range own.Receive(ctx, bus.Subscription{At: protocol.Discovery, Ready: func() { close(ready) }}) {
			received <- d
		}
	}()
	<-ready
	data, err := letter("forged").Encode()
	if err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(natsbus.Subject(protocol.Discovery))
	m.Header.Set("Nats-Request-Info", `{"acc":"agent/other"}`)
	m.Data = data
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if d := <-received; d.From != "echo" {
		t.Errorf("with a forged header it is from %q", d.From)
	}
	cancel()
	<-done
}

// TestServerResponsesStayInTheAccount: a client can name only reply subjects in its own
// account, so it cannot make the server publish elsewhere.
func TestServerResponsesStayInTheAccount(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: agents})
	own := open(t, s)
	defer own.Close()
	admin := connect(t, s.Contact().URL, nats.Token(s.Contact().Token))
	if err := own.Publish(t.Context(), protocol.JobAt("echo"), letter("a")); err != nil {
		t.Fatal(err)
	}
	if err := own.Publish(t.Context(), protocol.JobAt("other"), letter("b")); err != nil {
		t.Fatal(err)
	}
	nc := raw(t, s, "echo")
	const consumer = "PARLEY.agent+task+echo"
	targets := []string{
		natsbus.Subject(protocol.JobAt("other")), natsbus.Subject(protocol.WorkerAt("other.1")), natsbus.Subject(protocol.Discovery),
		natsbus.Subject(protocol.ControlAt("h1")), "$JS.API.STREAM.DELETE.PARLEY", "$JS.API.STREAM.PURGE.PARLEY",
		"$JS.API.CONSUMER.DELETE.PARLEY.agent+task+echo",
	}
	before := state(t, admin)
	for _, target := range targets {
		for subject, data := range map[string]string{
			"$JS.API.CONSUMER.INFO." + consumer:     "",
			"$JS.API.CONSUMER.MSG.NEXT." + consumer: `{"batch":1,"no_wait":true}`,
		} {
			if err := nc.PublishRequest(subject, target, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.PublishRequest(natsbus.Subject(protocol.ReportAt("h1")), targets[0], []byte("{}")); err != nil {
		t.Fatal(err)
	}
	// The server handles requests on goroutines of the API, of the consumer and of the stream,
	// each in order. So it has handled those above when each of the goroutines has answered a
	// further one. Only the two reports are in the stream then.
	ask(t, nc, "$JS.API.CONSUMER.INFO."+consumer, "")
	if _, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT."+consumer, []byte(`{"batch":1,"expires":100000000}`), time.Minute); err != nil {
		t.Fatalf("a further request for work: %v", err)
	}
	ask(t, nc, natsbus.Subject(protocol.ReportAt("h1")), "{}")
	before.Messages += 2
	if diff := cmp.Diff(before, state(t, admin)); diff != "" {
		t.Errorf("the stream has changed (-want +got):\n%s", diff)
	}
}

// streamState is the part of the stream's state that the test compares.
type streamState struct {
	Messages      int
	ConsumerCount int `json:"consumer_count"`
}

func state(t *testing.T, nc *nats.Conn) streamState {
	t.Helper()
	m, err := nc.Request("$JS.API.STREAM.INFO.PARLEY", nil, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ State streamState }
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.State
}

// answer is a response of JetStream.
type answer struct{ Error *struct{ Description string } }

func ask(t *testing.T, nc *nats.Conn, subject, data string) answer {
	t.Helper()
	m, err := nc.Request(subject, []byte(data), 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	var a answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWorkersReceiveNoForeignMessages: a worker that subscribes to all subjects receives no
// message of another agent, nor of the hub.
func TestWorkersReceiveNoForeignMessages(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: agents})
	own := open(t, s)
	defer own.Close()
	nc := raw(t, s, "echo")
	var wide []*nats.Subscription
	for _, subject := range []string{">", "parley.>", "_INBOX.>", "_INBOX.echo.>", "$JS.>", natsbus.Subject(protocol.WorkerAt("echo.*"))} {
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		wide = append(wide, sub)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	other := worker(t, s, "other")
	if err := own.Publish(t.Context(), protocol.JobAt("other"), letter("secret")); err != nil {
		t.Fatal(err)
	}
	first(t, other, protocol.JobAt("other"))
	for _, at := range []bus.Address{protocol.WorkerAt("other.1"), protocol.ControlAt("h1"), protocol.Discovery, protocol.ChatTopic, protocol.WorkerAt("echo.1")} {
		if err := own.Publish(t.Context(), at, letter(at.Name)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := wide[len(wide)-1].NextMsg(time.Minute) // published last
	if err != nil || !strings.Contains(string(m.Data), `"worker.echo.1"`) {
		t.Errorf("at its own topic: %v, %v", m, err)
	}
	for _, sub := range wide {
		if n, _, err := sub.Pending(); err == nil && n > 0 {
			m, _ := sub.NextMsg(time.Second)
			t.Errorf("at %s a foreign client receives %s: %s", sub.Subject, m.Subject, m.Data)
		}
	}
}

// TestEndOfKey ends connections when their key expires.
func TestEndOfKey(t *testing.T) {
	t.Parallel()
	var good atomic.Bool
	good.Store(true)
	var until atomic.Int64 // in nanoseconds
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: func(key, _ string) (embedded.Credential, bool) {
		switch key {
		case "short":
			end := time.Unix(0, until.Load())
			return embedded.Credential{Key: "1", Agent: "echo", Until: end}, time.Now().Before(end)
		case "long":
			return embedded.Credential{Key: "2", Agent: "echo"}, good.Load()
		}
		return embedded.Credential{}, false
	}})
	dial := func(key string) (gone chan error, err error) {
		gone = make(chan error, 1)
		nc, err := nats.Connect(s.Contact().URL, nats.Token(key), nats.NoReconnect(), nats.Timeout(time.Minute),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.ClosedHandler(func(nc *nats.Conn) { gone <- nc.LastError() }))
		if err == nil {
			t.Cleanup(nc.Close)
		}
		return gone, err
	}
	long, err := dial("long")
	if err != nil {
		t.Fatal(err)
	}
	var short chan error
	for left := time.Second; short == nil; left *= 2 {
		end := time.Now().Add(left)
		until.Store(end.UnixNano())
		gone, err := dial("short")
		if err == nil {
			short = gone
		} else if time.Now().Before(end) { // after it, the machine was too busy to connect in time
			t.Fatal(err)
		}
	}
	if err := <-short; time.Now().Before(time.Unix(0, until.Load())) {
		t.Errorf("before the end of the key the connection ended: %v", err)
	}
	select {
	case err := <-long:
		t.Fatalf("the connection with another key ended: %v", err)
	default:
	}
	good.Store(false)
	if err := s.Drop("2"); err != nil {
		t.Fatal(err)
	}
	<-long
	for _, key := range []string{"short", "long"} {
		if nc, err := nats.Connect(s.Contact().URL, nats.Token(key), nats.Timeout(time.Minute)); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("Connect with the key that was %s = %v, want a refusal", key, err)
			if nc != nil {
				nc.Close()
			}
		}
	}
}

// TestRevokedWhileItComes: a key that is revoked during the connection is refused.
func TestRevokedWhileItComes(t *testing.T) {
	t.Parallel()
	var looked atomic.Int32
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: func(string, string) (embedded.Credential, bool) {
		return embedded.Credential{Key: "1", Agent: "echo"}, looked.Add(1) == 1
	}})
	if nc, err := nats.Connect(s.Contact().URL, nats.Token("x"), nats.Timeout(time.Minute)); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("Connect = %v, want a refusal", err)
		if nc != nil {
			nc.Close()
		}
	}
}

// TestManyThroughAnAccount: all published messages pass through an account.
func TestManyThroughAnAccount(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Options{Listen: "127.0.0.1:0", Agent: agents})
	own := open(t, s)
	defer own.Close()
	w := worker(t, s, "echo")
	const n = 500
	go func() {
		for i := range n {
			if err := own.Publish(t.Context(), protocol.JobAt("echo"), letter(fmt.Sprint(i))); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	seen := make(map[string]bool)
	for d, err := range w.Receive(t.Context(), bus.Subscription{At: protocol.JobAt("echo"), Prefetch: 20}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Publish(t.Context(), protocol.ReportAt("h1"), letter("r"+d.ID)); err != nil {
			t.Fatal(err)
		}
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seen[d.ID] = true; len(seen) == n {
			break
		}
	}
	depth, err := own.(bus.Operator).Depth(t.Context(), protocol.ReportAt("h1"))
	if err != nil || depth.Ready != n {
		t.Errorf("of %d reports %+v are there, %v", n, depth, err)
	}
}
