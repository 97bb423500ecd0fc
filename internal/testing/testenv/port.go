package testenv

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// lowest and highest limit the ports to a range below the ephemeral ports that systems assign
// to outgoing connections and to listeners on port 0.
const lowest, highest = 10_000, 32_000

// tries is the number of ports that ReservePort tries.
const tries = 1000

// ReservePort returns a free port of loopback for a server that is stopped and started again at
// the same address. The reservation ends with release, or with the process. On Linux it is
// valid on the whole machine, for other test processes as well; elsewhere two test processes
// may get the same port, which is unlikely. It is safe for concurrent use, like Port and Addr.
func ReservePort() (port int, release func(), err error) {
	for range tries {
		n := lowest + rand.IntN(highest-lowest)
		if r, ok := take(n); ok {
			return n, func() { _ = r.Close() }, nil
		}
	}
	return 0, nil, errors.New("no port of loopback is free")
}

// take reserves port n if it is free.
func take(n int) (io.Closer, bool) {
	r, err := reserve(fmt.Sprintf("parley-test-port-%d", n))
	if err != nil {
		return nil, false
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n)))
	if err != nil {
		_ = r.Close()
		return nil, false
	}
	return r, l.Close() == nil
}

// Port returns a port of loopback that is reserved until tb has ended.
func Port(tb testing.TB) int {
	tb.Helper()
	n, release, err := ReservePort()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return n
}

// Listen listens on a port of loopback that is reserved until tb has ended. It is for servers that
// a test closes before it ends: no other test gets the port, so that calls to it keep failing.
func Listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", Addr(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// Addr returns a loopback address with a port that is reserved until tb has ended.
func Addr(tb testing.TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(tb)))
}
