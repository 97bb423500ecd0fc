package testenv

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = os.Unsetenv(Asked) // the requirements in the tests of this package are made up
	goleak.VerifyTestMain(m)
}

// TestAddrIsUnique: all ports that are reserved at one time differ, although no server
// listens on them.
func TestAddrIsUnique(t *testing.T) {
	t.Parallel()
	type taken struct {
		port    int
		release func()
		err     error
	}
	const many = 500
	got := make(chan taken, many)
	for range many {
		go func() { // sends once
			n, release, err := ReservePort()
			got <- taken{n, release, err}
		}()
	}
	seen := map[int]bool{}
	for range many {
		k := <-got
		if k.err != nil {
			t.Fatal(k.err)
		}
		defer k.release()
		if seen[k.port] {
			t.Errorf("port %d appears twice", k.port)
		}
		seen[k.port] = true
	}
}

// TestFree: a server can listen on a reserved port, and a port with a listener is never
// reserved.
func TestFree(t *testing.T) {
	t.Parallel()
	for range 2 {
		l, err := net.Listen("tcp", Addr(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNotGivenToOthers: reserved ports are outside the range of outgoing connections.
func TestNotGivenToOthers(t *testing.T) {
	t.Parallel()
	low := highest
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if low, err = strconv.Atoi(strings.Fields(string(b))[0]); err != nil {
			t.Fatal(err)
		}
	}
	if n := Port(t); n < lowest || n >= low {
		t.Errorf("port %d, want one from %d to %d", n, lowest, low)
	}
}
