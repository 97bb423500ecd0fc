package grpcbind

import (
	"bytes"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/parley-a2a/parley/internal/membudget"
)

// A large message is counted until gRPC has written it or its connection has ended. A caller that
// does not read it loses its connection.
func TestLargeMessagesAreCountedUntilTheyAreWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := &membudget.Budget{Max: 64 << 20}
		c := newTurns()
		near, far := net.Pipe()
		defer far.Close()
		conn := newMeter(near)
		defer conn.Close()
		const size = 3 << 20
		message := wrapperspb.Bytes(bytes.Repeat([]byte{'x'}, size))
		want, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		used := func(when string, want int64) {
			t.Helper()
			synctest.Wait()
			if got := memory.Stats().Used; got != want {
				t.Errorf("%s, %d bytes are used, want %d", when, got, want)
			}
		}
		encode := func(m proto.Message) (free func()) {
			t.Helper()
			b, err := c.Marshal(&outgoing{m, memory, conn, 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if m == proto.Message(message) && !bytes.Equal(b.Materialize(), want) {
				t.Error("the message is encoded in another way")
			}
			return b.Free
		}
		encode(wrapperspb.String("small"))
		used("with a small message", 0)
		first, second := encode(message), encode(message)
		n := int64(len(want))
		used("with two large ones", 2*n)
		first()
		used("when one is written", n)
		time.Sleep(30*time.Second + size*time.Second/leastRate - time.Second)
		used("while its caller may read it", n)
		time.Sleep(2 * time.Second)
		used("when its caller has not read it", 0)
		if _, err := far.Write([]byte("x")); err == nil {
			t.Error("the connection of a caller that does not read was not closed")
		}
		second()
		encode(message)
		used("after the end of the connection", 0)
	})
}
