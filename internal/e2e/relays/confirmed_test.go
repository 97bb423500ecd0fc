package relays

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// The agents declare needed and offered. They confirm offered alone, with unknown, which is not
// in their card, and with an extension that no caller requests.
const (
	confirms      = offered + ", urn:x:more, " + unknown
	named         = needed + ", " + unknown + ", " + offered
	wantConfirmed = unknown + "," + offered
)

// declares returns the members of a card.
func declares(streaming bool) string {
	return fmt.Sprintf(`,"capabilities":{"streaming":%t,"extensions":[{"uri":%q},{"uri":%q}]}`, streaming, needed, offered)
}

// overGRPC is an agent over gRPC that confirms in the header of its answers.
type overGRPC struct {
	pb.UnimplementedA2AServiceServer
	silent bool
}

func (g *overGRPC) header() metadata.MD {
	if g.silent {
		return nil
	}
	return metadata.Pairs("a2a-extensions", confirms)
}

var doneThere = &pb.Task{
	Id: "there", ContextId: "c", Status: &pb.TaskStatus{State: pb.TaskState_TASK_STATE_COMPLETED},
	Artifacts: []*pb.Artifact{{ArtifactId: "a", Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "done"}}}}},
}

func (g *overGRPC) SendMessage(ctx context.Context, _ *pb.SendMessageRequest) (*pb.SendMessageResponse, error) {
	if err := grpc.SetHeader(ctx, g.header()); err != nil {
		return nil, err
	}
	return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Task{Task: doneThere}}, nil
}

func (g *overGRPC) SendStreamingMessage(_ *pb.SendMessageRequest, out grpc.ServerStreamingServer[pb.StreamResponse]) error {
	if err := out.SetHeader(g.header()); err != nil {
		return err
	}
	return out.Send(&pb.StreamResponse{Payload: &pb.StreamResponse_Task{Task: doneThere}})
}

// activating is an interceptor of the official SDK, whose gRPC server confirms in the trailer.
type activating struct {
	a2asrv.PassthroughCallInterceptor
}

func (activating) Before(ctx context.Context, c *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	for _, uri := range strings.Split(confirms, ", ") {
		c.Extensions().Activate(&a2a.AgentExtension{URI: uri})
	}
	return ctx, nil, nil
}

// officialGRPC is an agent of the official SDK.
func officialGRPC() pb.A2AServiceServer {
	done := agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(x, x.Message), nil) &&
			yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("done")), nil) &&
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	})
	return a2agrpc.NewHandler(a2asrv.NewHandler(done, a2asrv.WithCallInterceptors(activating{})))
}

// startGRPC serves an agent over gRPC, and its card over HTTP. It returns the address of the
// card.
func startGRPC(t *testing.T, x pb.A2AServiceServer, streaming bool) string {
	t.Helper()
	l, srv := hubtest.Listen(t), grpc.NewServer()
	pb.RegisterA2AServiceServer(srv, x)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", cardOf("GRPC", l.Addr().String(), declares(streaming)))
	card := httptest.NewServer(mux)
	t.Cleanup(card.Close)
	return card.URL
}

// confirmed calls an agent of a hub in one way, and returns the extensions that the answer
// confirms.
type confirmed func(t *testing.T, agent string) string

// overHTTP calls over HTTP at a URL in which %s is the agent, with more headers.
func overHTTP(url, body, header string, more ...string) confirmed {
	return func(t *testing.T, agent string) string {
		t.Helper()
		resp, err := hubtest.Do(t.Context(), hubtest.Request{URL: fmt.Sprintf(url, agent), Body: body, Header: append(more, header, named)})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "done") {
			t.Fatalf("%s: %s, %v", resp.Status, text, err)
		}
		return resp.Header.Get(header)
	}
}

// withGRPC calls over gRPC.
func withGRPC(t *testing.T, address string, stream bool) confirmed {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	client := pb.NewA2AServiceClient(conn)
	return func(t *testing.T, agent string) string {
		t.Helper()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "a2a-version", "1.0", "a2a-extensions", named)
		message := &pb.SendMessageRequest{Tenant: agent, Message: &pb.Message{
			MessageId: "m", Role: pb.Role_ROLE_USER, Parts: []*pb.Part{{Content: &pb.Part_Text{Text: "hi"}}},
		}}
		var header metadata.MD
		if !stream {
			if _, err := client.SendMessage(ctx, message, grpc.Header(&header)); err != nil {
				t.Fatal(err)
			}
			return strings.Join(header.Get("a2a-extensions"), ",")
		}
		s, err := client.SendStreamingMessage(ctx, message)
		for err == nil {
			_, err = s.Recv()
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		if header, err = s.Header(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(header.Get("a2a-extensions"), ",")
	}
}

// TestConfirmedByTheAgent: the answer to a send confirms the extensions that the remote agent
// has confirmed, and not those of its card. This holds on every binding on both sides, and
// through a second hub. If an agent confirms nothing, the hub confirms nothing.
func TestConfirmedByTheAgent(t *testing.T) {
	t.Parallel()
	agents := map[string]string{}
	for _, streaming := range []bool{false, true} {
		name := map[bool]string{false: "-once", true: "-stream"}[streaming]
		for _, silent := range []bool{false, true} {
			list := confirms
			if silent {
				name, list = name+"-silent", ""
			}
			agents["rpc"+name] = (&peer{card: declares(streaming), confirms: list}).start(t).url
			agents["rest"+name] = (&peer{card: declares(streaming), confirms: list, binding: "HTTP+JSON"}).start(t).url
			agents["grpc"+name] = startGRPC(t, &overGRPC{silent: silent}, streaming)
		}
		agents["sdk"+strings.TrimSuffix(name, "-silent")] = startGRPC(t, officialGRPC(), streaming)
	}
	near, nearGRPC := confirmingHub(t, agents)
	through := map[string]string{}
	for name := range agents {
		through[name] = near.URL() + "/a2a/" + name
	}
	far, farGRPC := confirmingHub(t, through)
	for hub, ways := range map[string]map[string]confirmed{"one hub": waysTo(t, near, nearGRPC), "two hubs": waysTo(t, far, farGRPC)} {
		for way, ask := range ways {
			for name := range agents {
				if name == "sdk-stream" && (hub == "two hubs" || strings.HasSuffix(way, "stream")) {
					continue // its trailer comes after the header of an answer that streams
				}
				t.Run(hub+"/"+way+"/"+name, func(t *testing.T) {
					want := wantConfirmed
					if strings.HasSuffix(name, "-silent") {
						want = ""
					}
					if got := ask(t, name); got != want {
						t.Errorf("the answer confirms %q, want %q", got, want)
					}
				})
			}
		}
	}
}

// confirmingHub starts a hub with remote agents, and waits until it has read their cards.
func confirmingHub(t *testing.T, agents map[string]string) (hub *hubtest.Hub, grpcAddr string) {
	t.Helper()
	// A stream waits for the agent's confirmation, also on a busy machine.
	config := "agents_builtin: false\nengine: {first_event: 1m}\nagents:\n"
	for name, url := range agents {
		config += fmt.Sprintf("  - {name: %s, url: %q}\n", name, url)
	}
	grpcAddr = hubtest.Addr(t)
	hub = hubtest.Start(t, hubtest.Options{Flags: []string{"--grpc-listen", grpcAddr}, Config: config})
	for name := range agents {
		awaitCard(t, hub.URL(), name, needed)
	}
	return hub, grpcAddr
}

// waysTo returns the ways to call a hub.
func waysTo(t *testing.T, hub *hubtest.Hub, grpcAddr string) map[string]confirmed {
	t.Helper()
	const (
		message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
		call    = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + message + `}`
		old     = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`
	)
	url := hub.URL()
	return map[string]confirmed{
		"rest":        overHTTP(url+"/v1/a2a/%s/message:send", message, "A2A-Extensions"),
		"rest stream": overHTTP(url+"/v1/a2a/%s/message:stream", message, "A2A-Extensions"),
		"rpc":         overHTTP(url+"/a2a/%s", call, "A2A-Extensions", "A2A-Version", "1.0"),
		"v0.3":        overHTTP(url+"/a2a/%s", old, "X-A2A-Extensions"),
		"grpc":        withGRPC(t, grpcAddr, false),
		"grpc stream": withGRPC(t, grpcAddr, true),
	}
}
