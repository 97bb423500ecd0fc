// Command facts is an agent that is served with the official A2A SDK for Go alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4101", "the address to listen at")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	fmt.Println("facts serves at", url)
	log.Fatal(serve(l, url))
}

func serve(l net.Listener, url string) error {
	card := &a2a.AgentCard{
		Name: "facts", Description: "Knows two facts about whales, lighthouses and tea.", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url+"/a2a", a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{{ID: "facts", Name: "Facts", Description: "Two facts", Tags: []string{"facts"}}},
	}
	mux := http.NewServeMux()
	mux.Handle("/a2a", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(facts{}, a2asrv.WithCapabilityChecks(&card.Capabilities))))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}

var known = map[string]string{
	"whale":      "Whales breathe air. The blue whale is the largest animal there has ever been.",
	"lighthouse": "Each lighthouse has a rhythm of its own. The light of Alexandria was seen from 50 km.",
	"tea":        "All tea comes from one plant. Only water is drunk more.",
}

// facts is the agent.
type facts struct{}

// Execute implements a2asrv.AgentExecutor.
func (facts) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		asked := ""
		for _, p := range ec.Message.Parts {
			asked += strings.ToLower(p.Text())
		}
		answer := "There is nothing known about that."
		for what, text := range known {
			if strings.Contains(asked, what) {
				answer = text
			}
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted,
			a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(answer))), nil)
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (facts) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
