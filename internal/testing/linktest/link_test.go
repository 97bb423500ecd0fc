package linktest_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin returns a link to a server that repeats the bytes that it gets.
func begin(t *testing.T) *linktest.Link {
	t.Helper()
	server := hubtest.Listen(t)
	t.Cleanup(func() { server.Close() })
	go func() { // ends with the listener, and with the links of its connections
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return linktest.New(t, server.Addr().String())
}

func dial(t *testing.T, l *linktest.Link) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// echo sends a byte, and waits for it.
func echo(c net.Conn, limit time.Duration) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

const (
	long  = time.Minute
	short = 20 * time.Millisecond
)

// Bytes that are stalled in one direction arrive after the stall.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, d := range []linktest.Direction{linktest.ToServer, linktest.ToClient, linktest.Both} {
		l := begin(t)
		c := dial(t, l)
		if err := echo(c, long); err != nil {
			t.Fatal(err)
		}
		flow := l.Stall(d)
		if err := echo(c, short); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("direction %d: %v while it is stalled", d, err)
		}
		flow()
		if err := echo(c, long); err != nil {
			t.Errorf("direction %d: %v after the stall", d, err)
		}
	}
}

// A cut ends connections, but not the link; a link that refuses ends new ones, too.
func TestCut(t *testing.T) {
	t.Parallel()
	l := begin(t)
	c := dial(t, l)
	if err := echo(c, long); err != nil {
		t.Fatal(err)
	}
	l.Cut()
	if err := echo(c, long); err == nil {
		t.Error("the connection survives a cut")
	}
	if err := echo(dial(t, l), long); err != nil {
		t.Errorf("after a cut: %v", err)
	}
	l.Refuse(true)
	if err := echo(dial(t, l), long); err == nil {
		t.Error("the link accepts connections that it refuses")
	}
	l.Refuse(false)
	if err := echo(dial(t, l), long); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

// A delay holds the bytes of both directions.
func TestDelay(t *testing.T) {
	t.Parallel()
	l := begin(t)
	l.Delay(short)
	began := time.Now()
	if err := echo(dial(t, l), long); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 2*short {
		t.Errorf("the answer took %v, want %v at least", d, 2*short)
	}
}
