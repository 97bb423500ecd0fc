package proxies

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// dialGRPC returns a connection for gRPC that finds agents.example at the proxy, and a context with the key.
func (s *site) dialGRPC(t *testing.T) (context.Context, *grpc.ClientConn) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+host,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12})),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key), conn
}

func textRequest(agent, text string) *pb.SendMessageRequest {
	part := &pb.Part{Content: &pb.Part_Text{Text: text}}
	return &pb.SendMessageRequest{Tenant: agent, Message: &pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{part}}}
}

// unary sends a text of a megabyte and has it back, and gets the statuses of refused calls of both versions.
func unary(t *testing.T, s *site) {
	ctx, conn := s.dialGRPC(t)
	text := strings.Repeat("é 🎉\n", 100_000)
	sent, err := pb.NewA2AServiceClient(conn).SendMessage(ctx, textRequest("echo", text))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, a := range sent.GetTask().GetArtifacts() {
		for _, p := range a.GetParts() {
			got += p.GetText()
		}
	}
	if got != text || sent.GetTask().GetStatus().GetState() != pb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("%v with %d bytes, want completed with the %d bytes that were sent", sent.GetTask().GetStatus(), len(got), len(text))
	}
	if _, err := pb.NewA2AServiceClient(conn).GetTask(ctx, &pb.GetTaskRequest{Id: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown task: %v", err)
	}
	if _, err := pb.NewA2AServiceClient(conn).GetTask(t.Context(), &pb.GetTaskRequest{Id: "none"}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a key: %v", err)
	}
	if _, err := pb0.NewA2AServiceClient(conn).GetTask(ctx, &pb0.GetTaskRequest{Name: "tasks/none"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown task over v0.3: %v", err)
	}
}

// streamOverGRPC reads a stream whose agent says nothing for longer than a proxy keeps idle connections by
// default. Its first event arrives while the agent works.
func streamOverGRPC(t *testing.T, s *site) {
	ctx, conn := s.dialGRPC(t)
	client := pb.NewA2AServiceClient(conn)
	events, err := client.SendStreamingMessage(ctx, textRequest("silent", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := events.Recv()
	if err != nil {
		t.Fatalf("first event: %v", err)
	}
	now, err := client.GetTask(ctx, &pb.GetTaskRequest{Id: first.GetTask().GetId()})
	if err != nil || now.GetStatus().GetState() == pb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("after the first event %v: %v, %v", first, now, err)
	}
	said, state := "", pb.TaskState_TASK_STATE_UNSPECIFIED
	for {
		e, err := events.Recv()
		if err == io.EOF { //nolint:errorlint // gRPC does not wrap it
			break
		}
		if err != nil {
			t.Fatalf("the stream broke: %v", err)
		}
		for _, p := range e.GetArtifactUpdate().GetArtifact().GetParts() {
			said += p.GetText()
		}
		if update := e.GetStatusUpdate(); update != nil {
			state = update.GetStatus().GetState()
		}
	}
	if strings.TrimSpace(said) != "late" || state != pb.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("the stream ends %v with %q", state, said)
	}
}

// TestGRPCOverHTTP1: a caller of gRPC reads that its proxy is configured for HTTP alone.
func TestGRPCOverHTTP1(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	withoutGRPC := strings.NewReplacer("application/grpc", "none/none", `(lf\.)?a2a`, "none")
	for i := range proxies {
		p := &proxies[i]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := p.start(t, h, "", withoutGRPC.Replace)
			ctx, conn := s.dialGRPC(t)
			_, err := pb.NewA2AServiceClient(conn).SendMessage(ctx, textRequest("echo", strings.Repeat("é 🎉\n", 100_000)))
			if got := status.Convert(err); got.Code() != codes.Unimplemented || !strings.Contains(got.Message(), "gRPC requires HTTP/2") {
				t.Errorf("SendMessage: %v", err)
			}
		})
	}
}
