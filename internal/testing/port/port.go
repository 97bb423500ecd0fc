// Package port gives tests ports for servers that listen later, or again.
//
// # What it is
//
// A server that a test starts as a process, or stops and starts again at the same address,
// cannot keep its port while it is down. [Take] chooses one that nobody else is given until
// then: it lies below those that systems give to outgoing connections and to whoever listens
// at port 0, and on Linux it is reserved on the whole machine, for other test processes as
// well.
//
// # What it does not promise
//
// Programs that know nothing of this package may listen where they want. Elsewhere than on
// Linux two test processes may choose the same port, which is unlikely.
//
// # Concurrency
//
// All functions may be called by several goroutines.
//
// # Testing
//
// Its test takes many ports side by side.
package port

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports: below those that systems give to outgoing connections.
const lowest, highest = 10_000, 32_000

// tries is how many ports Take looks at.
const tries = 1000

// Take returns a port of loopback that nobody listens on, and what gives the reservation
// back, which also ends with the process.
func Take() (port int, release func(), err error) {
	for range tries {
		n := lowest + rand.IntN(highest-lowest)
		if r, ok := take(n); ok {
			return n, func() { _ = r.Close() }, nil
		}
	}
	return 0, nil, errors.New("no port of loopback is free")
}

// take reserves port n, if it is free.
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

// Of returns a port that is reserved until tb has ended.
func Of(tb testing.TB) int {
	tb.Helper()
	n, release, err := Take()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(release)
	return n
}

// Addr returns a loopback address with a port that is reserved until tb has ended.
func Addr(tb testing.TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Of(tb)))
}
