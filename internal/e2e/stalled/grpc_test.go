package stalled

import (
	"strconv"
	"testing"
	"time"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/codes"

	"github.com/parley-a2a/parley/grpcbind"
)

// A gRPC reader that does not read is disconnected like one over HTTP, and resumes.
func TestStalledGRPCReader(t *testing.T) {
	t.Parallel()
	h := start(t, options{grpc: grpcbind.Limits{SendTime: 4 * time.Second}})
	ctx, cancel := h.as("ann")
	defer cancel()
	s, err := h.grpc.SendStreamingMessage(ctx, pbTo("flood", "320"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	// The hub writes the end of the call to the log when it aborts the call.
	id := first.GetTask().GetId()
	h.logs.await(t, "stream was not read")
	h.alive("bob")
	got, err := recvAll(s)
	wantFault(t, fault{0, int(codes.DeadlineExceeded), "DEADLINE_EXCEEDED", ""}, grpcFault(t, err))
	last := len(got) + 1 // the versions that the reader has received
	again, stop := h.as("ann", "last-event-id", strconv.Itoa(last))
	defer stop()
	s, err = h.patient().grpc.SubscribeToTask(again, &pb.SubscribeToTaskRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := recvAll(s)
	if err != nil || last+len(rest) != 322 || len(got) > 300 {
		t.Errorf("%d events, then %d after resuming, %v; want 322 in all, most of them later", last, len(rest), err)
	}
}
