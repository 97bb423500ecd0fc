package cli

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb0 "github.com/a2aproject/a2a-go/a2apb"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// cardAddresses returns the addresses of a card by their bindings.
func cardAddresses(t *testing.T, web *http.Client, base string) map[string]string {
	t.Helper()
	q := httpQuery{web: web, at: base, what: "GET /.well-known/agent-card.json"}
	resp, err := q.ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var card struct {
		SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
	}
	if err := json.Unmarshal(b, &card); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range card.SupportedInterfaces {
		all[i.ProtocolBinding+" "+i.ProtocolVersion] = i.URL
	}
	return all
}

// One port serves HTTP/1.1, HTTP/2 and gRPC of both versions, in the clear and over TLS. The card names
// one origin, because some clients refuse a card with another one, or with an address that is no URL.
func TestOnePort(t *testing.T) {
	t.Parallel()
	secure := startTLS(t, "", rulesOfTest)
	mine := secure.config(secure.acme.Issue(t, x509.Certificate{URIs: []*url.URL{parsedURL(t, buyerID)}}))
	c := serveCmd{Config: emptyFile(t), Listen: "127.0.0.1:0", Data: t.TempDir(), Agents: "builtin", Bus: "off"}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	for _, at := range []struct {
		name, url string
		web       *http.Client
		creds     credentials.TransportCredentials
		named     bool
	}{
		{"in the clear", plain.URL(), http.DefaultClient, insecure.NewCredentials(), true},
		{"over TLS", secure.URL(), secure.web(mine, true), credentials.NewTLS(mine), false}, // it has a listener of its own
	} {
		if got := cardAddresses(t, at.web, at.url)["GRPC 1.0"]; (got == at.url) != at.named {
			t.Errorf("%s: the card names %q for gRPC at %s", at.name, got, at.url)
		}
		conn, err := grpc.NewClient(strings.SplitN(at.url, "://", 2)[1], grpc.WithTransportCredentials(at.creds))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		sent, err := pb.NewA2AServiceClient(conn).SendMessage(t.Context(), &pb.SendMessageRequest{
			Message: &pb.Message{MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "hello"}}}},
		})
		if err != nil || sent.GetTask().GetStatus().GetState() != pb.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("%s: SendMessage = %v, %v", at.name, sent, err)
		}
		old, err := pb0.NewA2AServiceClient(conn).GetTask(t.Context(), &pb0.GetTaskRequest{Name: "tasks/" + sent.GetTask().GetId()})
		if err != nil || old.GetStatus().GetState() != pb0.TaskState_TASK_STATE_COMPLETED {
			t.Errorf("%s: GetTask of v0.3 = %v, %v", at.name, old, err)
		}
		q := httpQuery{web: at.web, at: at.url, what: "GET /v1/a2a/tasks/" + sent.GetTask().GetId()}
		resp, err := q.ask(t.Context())
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: the task over HTTP: %v, %v", at.name, resp, err)
		}
		resp.Body.Close()
	}
}

// A head that is too large costs its own request: others on the same connection continue, over HTTP/2 and
// gRPC, at the port of HTTP and at a listener for gRPC.
func TestLargeHeadsCostTheirOwnRequest(t *testing.T) {
	t.Parallel()
	c := serveCmd{Config: emptyFile(t), Listen: "127.0.0.1:0", GRPCListen: "127.0.0.1:0", Data: t.TempDir(), Agents: "builtin", Bus: "off"}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	for name, addr := range map[string]string{"the port of HTTP": strings.TrimPrefix(h.URL(), "http://"), "a listener of gRPC": h.About().GRPC} {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithMaxHeaderListSize(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := pb.NewA2AServiceClient(conn)
		hold := &pb.SendMessageRequest{Tenant: "slow", Message: &pb.Message{MessageId: "m" + addr, Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "1"}}}}}
		open, err := client.SendStreamingMessage(t.Context(), hold)
		if err == nil {
			_, err = open.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, kib := range []int{66, 100, 200} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-big", strings.Repeat("a", kib<<10))
			if _, err := client.ListTasks(ctx, &pb.ListTasksRequest{}); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s: metadata of %d KiB: %v, want RESOURCE_EXHAUSTED", name, kib, err)
			}
		}
		for err == nil {
			_, err = open.Recv()
		}
		if err != io.EOF { //nolint:errorlint // as gRPC returns it
			t.Errorf("%s: the call beside them ends with %v", name, err)
		}
	}
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	defer tr.CloseIdleConnections()
	for size, want := range map[int]int{60 << 10: 200, 66 << 10: 431, 200 << 10: 431} {
		q := httpQuery{web: &http.Client{Transport: tr}, at: h.URL(), what: "GET /healthz", header: []string{"X-Big: " + strings.Repeat("a", size)}}
		resp, err := q.ask(context.Background())
		if err != nil || resp.StatusCode != want {
			t.Fatalf("a head of %d bytes over HTTP/2: %v, %v, want %d", size, resp, err, want)
		}
		resp.Body.Close()
	}
}

// emptyFile returns a configuration file without settings, so that no other one is read.
func emptyFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
