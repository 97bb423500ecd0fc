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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

// One address has a bounded number of half-open connections: the oldest one is closed for a
// further one. Others, and connections that have sent a head, are left alone.
func TestHalfOpenOfOneAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := listen(t, &conns.Limit{HalfOpen: 2})
		_, other := b.connect("192.0.2.9")
		served, established := b.connect("192.0.2.1")
		b.limit.State(served, http.StateActive)
		_, first := b.connect("192.0.2.1")
		_, second := b.connect("192.0.2.1")
		_, third := b.connect("192.0.2.1")
		b.wantOpen(true, "another address", other)
		b.wantOpen(true, "an established one", established)
		b.wantOpen(false, "the oldest", first)
		b.wantOpen(true, "the second", second)
		b.wantOpen(true, "the third", third)
		_, v6 := b.connect("2001:db8::1")
		b.connect("2001:db8::2")
		b.connect("2001:db8::3")
		b.wantOpen(false, "the oldest of a network of IPv6", v6)
		if got, want := b.limit.Stats(), (conns.Stats{Open: 6, HalfOpen: 5, Evicted: 2}); got != want {
			t.Errorf("Stats = %+v, want %+v", got, want)
		}
	})
}

// Without room, the oldest half-open connection of the address with most of them is closed, then
// the one that is idle for the longest time. If all are at work, a new one is refused; those of
// this machine have a reserve.
func TestRoomForNewConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		b := listen(t, &conns.Limit{Max: 3, Reserve: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		_, lonely := b.connect("192.0.2.1")
		_, first := b.connect("192.0.2.2")
		b.connect("192.0.2.2")
		one, oneSide := b.connect("192.0.2.3")
		b.wantOpen(false, "the oldest of the address with most", first)
		b.wantOpen(true, "the oldest of all", lonely)
		b.limit.State(one, http.StateActive)
		two, twoSide := b.connect("192.0.2.3")
		b.wantOpen(false, "the oldest of those with one", lonely)
		b.limit.State(two, http.StateActive)
		three, _ := b.connect("192.0.2.3")
		b.limit.State(three, http.StateActive)

		b.limit.State(two, http.StateIdle)
		time.Sleep(time.Second)
		b.limit.State(one, http.StateIdle)
		four, _ := b.connect("192.0.2.4")
		b.limit.State(four, http.StateActive)
		b.wantOpen(false, "the one idle for longest", twoSide)
		b.wantOpen(true, "the other idle one", oneSide)
		b.limit.State(one, http.StateActive)

		refused := b.peers.dial("192.0.2.5")
		_, local := b.connect("127.0.0.1") // Accept continues after the refusal
		b.wantOpen(false, "a connection while all are at work", refused)
		b.wantOpen(true, "one of this machine", local)
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d records, want 1:\n%s", n, log.String())
		}
		got := b.limit.Stats()
		if diff := cmp.Diff(conns.Stats{Open: 4, HalfOpen: 1, Evicted: 4, Refused: 1}, got); diff != "" {
			t.Errorf("Stats mismatch (-want +got):\n%s", diff)
		}
	})
}

// Accept survives the lack of descriptors: it closes a half-open connection, or waits until one
// ends or time has passed. Other errors are returned.
func TestAcceptSurvives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := listen(t, new(conns.Limit))
		_, half := b.connect("192.0.2.1")
		b.peers.next <- syscall.EMFILE
		began := time.Now()
		served, _ := b.connect("192.0.2.2")
		b.wantOpen(false, "a half-open one", half)
		if took := time.Since(began) - time.Millisecond; took > 0 {
			t.Errorf("Accept has waited for %v although it has closed a connection", took)
		}
		b.limit.State(served, http.StateActive)

		b.peers.next <- syscall.ENFILE
		began = time.Now()
		time.AfterFunc(time.Millisecond, func() { served.Close() })
		b.connect("192.0.2.3")
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("Accept has waited for %v, want until a connection ended", took)
		}
		if s := b.limit.Stats(); s.Failed != 2 {
			t.Errorf("Stats = %+v, want 2 failures", s)
		}
		b.peers.next <- errors.New("broken")
		if _, err := b.l.Accept(); err == nil {
			t.Error("Accept has hidden a permanent error")
		}
	})
}

// A listener that is closed while Accept waits for descriptors returns at once.
func TestCloseWhileAcceptWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := listen(t, new(conns.Limit))
		b.peers.next <- syscall.EMFILE
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept = %v, want net.ErrClosed", err)
			}
		})
		synctest.Wait()
		b.l.Close()
		wg.Wait()
	})
}

// A server for HTTP reports the states of its connections: a half-sent head is half-open, a
// complete one is not, nor is a connection that waits for its next request.
func TestServerReportsStates(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit, inside, leave := new(conns.Limit), make(chan struct{}), make(chan struct{})
	s := &http.Server{ConnState: limit.State, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	})}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(limit.Listen(inner)) })
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n")
	io.WriteString(c, "\r\n")
	<-inside
	if got, want := limit.Stats(), (conns.Stats{Open: 1}); got != want {
		t.Errorf("while a request is at work: %+v, want %+v", got, want)
	}
	leave <- struct{}{}
	s.Close()
	wg.Wait()
}
