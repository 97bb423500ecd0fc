// Command trpc is the agent of the bench on trpc-a2a-go, with its task manager in memory. It
// follows the line protocol of package serve in cmd/bench/internal: the first line that it prints
// has its address, a line of input gets one of output, and it ends with its input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/log"
	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"
)

func main() {
	log.Default = quiet{}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "trpc:", err)
		os.Exit(1)
	}
}

// agent writes one artifact with the rest of the text after its first word, and completes.
type agent struct{}

// ProcessMessage implements taskmanager.MessageProcessor.
func (agent) ProcessMessage(
	_ context.Context, m protocol.Message, _ taskmanager.ProcessOptions, h taskmanager.TaskHandler,
) (*taskmanager.MessageProcessingResult, error) {
	id, err := h.BuildTask(nil, m.ContextID)
	if err != nil {
		return nil, err
	}
	if err := h.UpdateTaskState(&id, protocol.TaskStateWorking, nil); err != nil {
		return nil, err
	}
	text, _ := m.Parts[0].(*protocol.TextPart)
	_, rest, _ := strings.Cut(text.Text, " ")
	a := protocol.NewArtifactWithID(nil, nil, []protocol.Part{protocol.NewTextPart(rest)})
	if err := h.AddArtifact(&id, *a, true, false); err != nil {
		return nil, err
	}
	if err := h.UpdateTaskState(&id, protocol.TaskStateCompleted, nil); err != nil {
		return nil, err
	}
	t, err := h.GetTask(&id)
	if err != nil {
		return nil, err
	}
	return &taskmanager.MessageProcessingResult{Result: t.Task()}, nil
}

func serve() error {
	tasks, err := taskmanager.NewMemoryTaskManager(agent{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	version := "0.3.0"
	s, err := server.NewA2AServer(server.AgentCard{
		Name: "bench", Description: "Answers a load generator.", Version: "1", URL: "http://" + l.Addr().String() + "/",
		ProtocolVersion:   &version,
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}, tasks, server.WithReadTimeout(time.Hour))
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	defer srv.Close()
	fmt.Printf("{\"addr\":%q}\n", l.Addr().String())
	return obey()
}

// obey answers commands until the input ends. The only one that it knows has no numbers.
func obey() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "stats" {
			fmt.Println("{}")
		} else {
			fmt.Println(`{"error":"no such command"}`)
		}
	}
	return lines.Err()
}

// quiet logs nothing: the library logs to standard output, which carries the answers.
type quiet struct{}

func (quiet) Debug(...any)          {}
func (quiet) Debugf(string, ...any) {}
func (quiet) Info(...any)           {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warn(...any)           {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Error(...any)          {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatal(...any)          {}
func (quiet) Fatalf(string, ...any) {}
