package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"
)

// agent answers with the parts of the message. If the message requests it, the agent asks a
// question, answers with a bare message, or works until it is canceled.
type agent struct{}

// ProcessMessage implements taskmanager.MessageProcessor.
func (agent) ProcessMessage(
	_ context.Context, m protocol.Message, o taskmanager.ProcessOptions, h taskmanager.TaskHandler,
) (*taskmanager.MessageProcessingResult, error) {
	words := ""
	if t, ok := m.Parts[0].(*protocol.TextPart); ok {
		words = t.Text
	}
	if words == "brief" {
		return brief(m, o, h)
	}
	id, err := task(m, h)
	if err != nil {
		return nil, err
	}
	if !o.Streaming {
		if err := work(id, words, m, h); err != nil {
			return nil, err
		}
		t, err := h.GetTask(&id)
		if err != nil {
			return nil, err
		}
		return &taskmanager.MessageProcessingResult{Result: t.Task()}, nil
	}
	events, err := h.SubscribeTask(&id)
	if err != nil {
		return nil, err
	}
	go func() { // ends with the work, which does not wait
		defer events.Close()
		_ = work(id, words, m, h)
	}()
	return &taskmanager.MessageProcessingResult{StreamingEvents: events}, nil
}

// brief answers with a bare message. In a stream the library sends even that through a task.
func brief(m protocol.Message, o taskmanager.ProcessOptions, h taskmanager.TaskHandler) (*taskmanager.MessageProcessingResult, error) {
	reply := protocol.NewMessage(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart("in short: yes")})
	if !o.Streaming {
		return &taskmanager.MessageProcessingResult{Result: &reply}, nil
	}
	id, err := task(m, h)
	if err != nil {
		return nil, err
	}
	events, err := h.SubscribeTask(&id)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	return &taskmanager.MessageProcessingResult{StreamingEvents: events}, events.Send(protocol.StreamingMessageEvent{Result: &reply})
}

// task returns the task that a message continues, or a new one.
func task(m protocol.Message, h taskmanager.TaskHandler) (string, error) {
	if m.TaskID != nil && *m.TaskID != "" {
		_, err := h.GetTask(m.TaskID)
		return *m.TaskID, err
	}
	return h.BuildTask(nil, m.ContextID)
}

func work(id, words string, m protocol.Message, h taskmanager.TaskHandler) error {
	if err := h.UpdateTaskState(&id, protocol.TaskStateWorking, nil); err != nil {
		return err
	}
	state, text := protocol.TaskStateCompleted, "done"
	switch words {
	case "wait":
		return nil
	case "ask":
		state, text = protocol.TaskStateInputRequired, "which one?"
	default:
		a := protocol.NewArtifactWithID(nil, nil, m.Parts)
		if err := h.AddArtifact(&id, *a, true, false); err != nil {
			return err
		}
	}
	reply := protocol.NewMessageWithContext(protocol.MessageRoleAgent, []protocol.Part{protocol.NewTextPart(text)}, &id, m.ContextID)
	return h.UpdateTaskState(&id, state, &reply)
}

// serve serves the agent until in ends.
func serve(in io.Reader, out io.Writer) error {
	tasks, err := taskmanager.NewMemoryTaskManager(agent{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + l.Addr().String()
	yes, description, version := true, "Says it again", "0.3.0"
	s, err := server.NewA2AServer(server.AgentCard{
		Name: "stranger", Description: "An agent of another maker", Version: "1", URL: base + "/",
		ProtocolVersion:   &version,
		Capabilities:      server.AgentCapabilities{Streaming: &yes, PushNotifications: &yes},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []server.AgentSkill{{ID: "echo", Name: "Echo", Description: &description, Tags: []string{"echo"}}},
	}, tasks, server.WithReadTimeout(time.Hour))
	// The default read timeout of 60 s counts from the accept of a connection. A stream on a
	// connection that was idle until just before it ends without an event.
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: s.Handler()}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	if _, err := fmt.Fprintln(out, base); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}
