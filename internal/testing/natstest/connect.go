package natstest

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Connect connects a client, which is closed with t. It connects again if the server, a second
// after it accepted the connection, sends a PING before the answer to the client's CONNECT: the
// client reports that as an error.
func Connect(t testing.TB, url string, o ...nats.Option) *nats.Conn {
	t.Helper()
	for {
		nc, err := nats.Connect(url, append([]nats.Option{nats.Timeout(time.Minute)}, o...)...)
		if err == nil {
			t.Cleanup(nc.Close)
			return nc
		}
		if !strings.Contains(err.Error(), "expected 'PONG', got 'PING'") {
			t.Fatal(err)
		}
	}
}
