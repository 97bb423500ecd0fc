package crash

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestUnusedGRPCConnectionsLeaveRoom opens as many connections for gRPC as the hub may have, and uses
// none of them: before their first call, and after it. A caller over HTTP gets a connection
// nevertheless, and a client whose connection was closed for it makes its next call on a new one.
func TestUnusedGRPCConnectionsLeaveRoom(t *testing.T) {
	t.Parallel()
	const most, reserve = 20, 8
	for name, open := range map[string]func(t *testing.T, addr string) (again func(t *testing.T)){
		"before a call": greeted, "after a call": called,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := hubtest.Addr(t)
			h := &smallHub{t, hubtest.Start(t, hubtest.Options{
				Config: fmt.Sprintf("limits: {connections: %d}\n", most), Flags: []string{"--grpc-listen", addr},
			})}
			var again func(t *testing.T)
			for i := range most + reserve {
				next := open(t, addr)
				if i == 0 {
					again = next
				}
			}
			if code, body := h.ask("hi"); code != http.StatusOK {
				t.Errorf("send over HTTP = %d %s", code, body)
			}
			again(t)
		})
	}
}

// greeted opens a connection that does all that HTTP/2 demands, and makes no call.
func greeted(t *testing.T, addr string) (again func(t *testing.T)) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+settings); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, len(settings))); err != nil { // the hub serves it
		t.Fatal(err)
	}
	return func(t *testing.T) { called(t, addr)(t) }
}

// called opens a connection and makes a call. The function again makes another one with the same
// client.
func called(t *testing.T, addr string) (again func(t *testing.T)) {
	t.Helper()
	c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	again = func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := pb.NewA2AServiceClient(c).ListTasks(ctx, &pb.ListTasksRequest{}); err != nil {
			t.Errorf("ListTasks over gRPC: %v", err)
		}
	}
	again(t)
	return again
}
