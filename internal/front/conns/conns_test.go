package conns_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/front/conns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peers is a listener for connections in memory with addresses of the test's choice. A failure is
// returned before the connections that come after it.
type peers struct {
	next   chan any // net.Conn or error
	closed chan struct{}
}

func newPeers() *peers { return &peers{next: make(chan any, 100), closed: make(chan struct{})} }

func (p *peers) Accept() (net.Conn, error) {
	select {
	case v := <-p.next:
		if err, failed := v.(error); failed {
			return nil, &net.OpError{Op: "accept", Err: err}
		}
		return v.(net.Conn), nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *peers) Close() error { close(p.closed); return nil }
func (*peers) Addr() net.Addr { return &net.TCPAddr{} }

// peer is the server's side of a connection.
type peer struct {
	net.Conn

	from net.Addr
}

func (p peer) RemoteAddr() net.Addr { return p.from }

// dial connects from an address, and returns the peer's side.
func (p *peers) dial(address string) net.Conn {
	server, client := net.Pipe()
	p.next <- peer{server, &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
	return client
}

// bench is a Limit with a listener.
type bench struct {
	t     *testing.T
	limit *conns.Limit
	peers *peers
	l     net.Listener
}

func listen(t *testing.T, limit *conns.Limit) *bench {
	p := newPeers()
	return &bench{t, limit, p, limit.Listen(p)}
}

// connect opens a connection from an address; it returns both sides.
func (b *bench) connect(address string) (server, client net.Conn) {
	b.t.Helper()
	client = b.peers.dial(address)
	server, err := b.l.Accept()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}

// wantOpen checks which connections are open, by a read that must not end.
func (b *bench) wantOpen(want bool, name string, client net.Conn) {
	b.t.Helper()
	client.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := client.Read(make([]byte, 1))
	if open := !errors.Is(err, io.EOF); open != want {
		b.t.Errorf("%s: open = %v, want %v", name, open, want)
	}
}

// Without room, the connection that has waited for a request for the longest time is closed. If all have
// one, a new connection is refused; those of this machine have a reserve.
func TestRoomForNewConnections(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := listen(t, &conns.Limit{Max: 3, Reserve: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	one, oneSide := b.connect("192.0.2.1")
	_, second := b.connect("192.0.2.2")
	_, third := b.connect("192.0.2.2")
	b.limit.State(one, http.StateActive)
	two, twoSide := b.connect("192.0.2.3")
	b.wantOpen(true, "the oldest, which has a request", oneSide)
	b.wantOpen(false, "the oldest without a request", second)
	b.wantOpen(true, "a newer one without a request", third)
	b.limit.State(two, http.StateActive)
	three, _ := b.connect("192.0.2.3")
	b.wantOpen(false, "the only one without a request", third)
	b.limit.State(three, http.StateActive)

	b.limit.State(two, http.StateIdle)
	b.limit.State(one, http.StateIdle)
	four, _ := b.connect("192.0.2.4")
	b.limit.State(four, http.StateActive)
	b.wantOpen(false, "the one idle for longest", twoSide)
	b.wantOpen(true, "the other idle one", oneSide)
	b.limit.State(one, http.StateActive)
	b.limit.State(two, http.StateActive) // its server does not know yet that it is closed

	refused := b.peers.dial("192.0.2.5")
	_, local := b.connect("127.0.0.1") // Accept continues after the refusal
	b.wantOpen(false, "a connection while all have a request", refused)
	b.wantOpen(true, "one of this machine", local)
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d records, want 1:\n%s", n, log.String())
	}
	if got, want := b.limit.Stats(), (conns.Stats{Open: 4, Evicted: 3, Refused: 1}); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
}

// If the process lacks descriptors or memory, Accept closes connections without a request. Then it leaves the
// error to the server, which tries again.
func TestAcceptWithoutDescriptors(t *testing.T) {
	t.Parallel()
	b := listen(t, new(conns.Limit))
	_, waiting := b.connect("192.0.2.1")
	b.peers.next <- syscall.EMFILE
	served, _ := b.connect("192.0.2.2")
	b.wantOpen(false, "one without a request", waiting)
	b.limit.State(served, http.StateActive)
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		b.peers.next <- lack
		_, err := b.l.Accept()
		if again, ok := err.(interface{ Temporary() bool }); !errors.Is(err, lack) || !ok || !again.Temporary() {
			t.Errorf("Accept = %#v, want %v, after which a server tries again", err, lack)
		}
	}
}

// A server survives a lack of memory while no connection can be closed.
func TestServerWithoutMemory(t *testing.T) {
	t.Parallel()
	limit := new(conns.Limit)
	b := listen(t, limit)
	s := &http.Server{ConnState: limit.State, Handler: http.NotFoundHandler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	b.peers.next <- syscall.ENOMEM
	client := b.peers.dial("192.0.2.1")
	var wg sync.WaitGroup
	wg.Go(func() {
		defer client.Close()
		if err := s.Serve(b.l); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve = %v", err)
		}
	})
	if _, err := io.WriteString(client, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Error(err)
	}
	if answer, err := io.ReadAll(client); !strings.Contains(string(answer), "404") {
		t.Errorf("the server answers %q, %v", answer, err)
	}
	s.Close()
	wg.Wait()
}

// A server for HTTP reports the states of its connections: one with half a head makes room for others, one
// with a whole head does not.
func TestServerReportsStates(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit, inside, leave := &conns.Limit{Max: 1}, make(chan struct{}), make(chan struct{})
	s := &http.Server{ConnState: limit.State, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-leave
	})}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(limit.Listen(inner)) })
	dial := func(send string) net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, send); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const half = "GET / HTTP/1.1\r\nHost: x\r\n"
	waits := dial(half)
	dial(half + "\r\n")
	<-inside
	if n, err := waits.Read(make([]byte, 1)); err == nil {
		t.Errorf("a connection with half a head has got %d bytes, want it closed", n)
	}
	if n, err := dial("").Read(make([]byte, 1)); err == nil {
		t.Errorf("a connection beyond the limit has got %d bytes, want it closed", n)
	}
	if got, want := limit.Stats(), (conns.Stats{Open: 1, Evicted: 1, Refused: 1}); got != want {
		t.Errorf("while a request is at work: %+v, want %+v", got, want)
	}
	close(leave)
	s.Close()
	wg.Wait()
}
