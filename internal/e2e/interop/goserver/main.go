// Command goserver is a foreign agent, served with the official Go SDK alone. It prints the URL
// above its card, and exits at the end of its input.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until the input ends.
func run() error {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	card := newCard("http://"+web.Addr().String(), calls.Addr().String())
	handler := newHandler(&card.Capabilities)
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	srv := &http.Server{Handler: mux}
	rpc := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(rpc)
	var wg sync.WaitGroup
	var webErr, rpcErr error
	wg.Go(func() { webErr = srv.Serve(web) })
	wg.Go(func() { rpcErr = rpc.Serve(calls) })
	fmt.Println("http://" + web.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	rpc.Stop()
	closed := srv.Close()
	wg.Wait()
	if errors.Is(webErr, http.ErrServerClosed) {
		webErr = nil
	}
	if errors.Is(rpcErr, grpc.ErrServerStopped) {
		rpcErr = nil // the input ended before the server started
	}
	return errors.Join(closed, webErr, rpcErr)
}

func newHandler(capabilities *a2a.AgentCapabilities) a2asrv.RequestHandler {
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "somebody", nil },
	})
	sender := push.NewHTTPPushSender(&push.HTTPSenderConfig{AllowPrivateNetworks: true})
	return a2asrv.NewHandler(stranger{}, a2asrv.WithTaskStore(store), a2asrv.WithCapabilityChecks(capabilities),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), sender))
}

func newCard(url, calls string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "stranger", Description: "An agent of another maker", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(url+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(url+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(calls, a2a.TransportProtocolGRPC),
		},
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "talk", Name: "talk", Description: "Talks", Tags: []string{"talk"}}},
	}
}

// stranger is an agent written against the SDK alone: it answers with the parts of the message.
// It behaves differently if the message's text begins with certain words. The id counts, too,
// because the conformance kits use it.
type stranger struct{}

// mentions reports whether a message begins with one of these words.
func mentions(m *a2a.Message, words ...string) bool {
	text := ""
	if len(m.Parts) > 0 {
		text = m.Parts[0].Text()
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(text, w) || strings.HasPrefix(m.ID, w) })
}

func (stranger) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		m := ec.Message
		if mentions(m, "brief", "tck-message-response") {
			answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("in short: yes"))
			answer.ContextID = ec.ContextID
			yield(answer, nil)
			return
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, m), nil) {
			return
		}
		state := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))), nil)
		}
		switch {
		case ec.StoredTask == nil && mentions(m, "ask", "tck-input-required"):
			state(a2a.TaskStateInputRequired, "which one?")
		case mentions(m, "tck-reject-task"):
			state(a2a.TaskStateRejected, "no")
		case mentions(m, "wait", "tck-cancel"):
			if state(a2a.TaskStateWorking, "waiting") {
				<-ctx.Done()
			}
		default:
			if state(a2a.TaskStateWorking, "at it") && give(ec, yield) {
				state(a2a.TaskStateCompleted, "done")
			}
		}
	}
}

// give yields the artifact.
func give(ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) bool {
	parts := ec.Message.Parts
	switch {
	case mentions(ec.Message, "tck-stream-artifact-chunked", "tck-stream-chunked"):
		first := a2a.NewArtifactEvent(ec, a2a.NewTextPart("one "))
		return yield(first, nil) && yield(a2a.NewArtifactUpdateEvent(ec, first.Artifact.ID, a2a.NewTextPart("two")), nil)
	case mentions(ec.Message, "tck-artifact-file-url"):
		parts = a2a.ContentParts{a2a.NewFileURLPart("https://example.com/a.txt", "text/plain")}
	case mentions(ec.Message, "tck-artifact-file"):
		parts = a2a.ContentParts{a2a.NewRawPart([]byte("a file"))}
	case mentions(ec.Message, "tck-artifact-data"):
		parts = a2a.ContentParts{a2a.NewDataPart(map[string]any{"key": "value"})}
	}
	return yield(a2a.NewArtifactEvent(ec, parts...), nil)
}

func (stranger) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
