package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
)

// agent answers with the parts of the message. If the message requests it, the agent asks a
// question, answers with a bare message, or works until it is canceled.
type agent struct{}

func (agent) Execute(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	words := ""
	if t, ok := rc.Message.Parts[0].(a2a.TextPart); ok {
		words = t.Text
	}
	if words == "brief" {
		return q.Write(ctx, a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: "in short: yes"}))
	}
	if rc.StoredTask == nil {
		if err := q.Write(ctx, a2a.NewSubmittedTask(rc, rc.Message)); err != nil {
			return err
		}
	}
	switch words {
	case "ask":
		return state(ctx, rc, q, a2a.TaskStateInputRequired, "which one?")
	case "wait":
		if err := state(ctx, rc, q, a2a.TaskStateWorking, "waiting"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	if err := q.Write(ctx, a2a.NewArtifactEvent(rc, rc.Message.Parts...)); err != nil {
		return err
	}
	return state(ctx, rc, q, a2a.TaskStateCompleted, "done")
}

func (agent) Cancel(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue) error {
	return state(ctx, rc, q, a2a.TaskStateCanceled, "canceled")
}

func state(ctx context.Context, rc *a2asrv.RequestContext, q eventqueue.Queue, s a2a.TaskState, words string) error {
	ev := a2a.NewStatusUpdateEvent(rc, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, rc, a2a.TextPart{Text: words}))
	ev.Final = s != a2a.TaskStateWorking
	return q.Write(ctx, ev)
}

// serve serves the agent until in ends.
func serve(in io.Reader, out io.Writer) error {
	handler := a2asrv.NewHandler(agent{},
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	card := &a2a.AgentCard{
		Name: "stranger", Description: "An agent of another maker", Version: "1", ProtocolVersion: "0.3.0",
		URL: base + "/here", PreferredTransport: a2a.TransportProtocolJSONRPC,
		Capabilities:      a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "echo", Name: "Echo", Description: "Says it again", Tags: []string{"echo"}}},
	}
	mux := http.NewServeMux()
	mux.Handle("/here", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	srv := &http.Server{Handler: mux}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	if _, err := fmt.Fprintln(out, base); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
