package parley_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// shout answers in capitals.
type shout struct{}

func (shout) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := strings.ToUpper(ec.Message.Parts[0].Text())
		answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, answer), nil)
	}
}

func (shout) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

var card = &a2a.AgentCard{Name: "Shout", Description: "Answers in capitals.", Version: "1.0.0"}

// The handler of a hub is mounted in a mux.
func ExampleHub_Handler() {
	hub := &parley.Hub{}
	hub.Handle(card, shout{})

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	go func() { done <- hub.Run(ctx) }()

	mux := http.NewServeMux()
	mux.Handle("/", hub.Handler())
	srv := httptest.NewServer(mux)

	body := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
	resp, err := http.Post(srv.URL+"/v1/a2a/message:send", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode, strings.Contains(string(answer), `"HELLO"`))

	srv.Close()
	stop()
	fmt.Println(<-done)
	// Output:
	// 200 true
	// <nil>
}

// ListenAndServe serves until its context ends. It does not listen on an address that other
// machines can reach if callers are not authenticated.
func ExampleHub_ListenAndServe() {
	hub := &parley.Hub{}
	hub.Handle(card, shout{})
	fmt.Println(hub.ListenAndServe(context.Background(), "0.0.0.0:4100"))
	// Output:
	// listen on 0.0.0.0:4100: anonymous callers are only allowed on loopback addresses
}

// An agent of the hub answers the questions of the other agents in place of their callers.
func ExampleHub_questions() {
	hub := &parley.Hub{Answerer: &parley.PolicyAnswerer{Answerer: "clerk", Default: "auto"}}
	hub.Handle(&a2a.AgentCard{Name: "Weather"}, agent.Func(
		func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			state, text := a2a.TaskStateCompleted, "Rain in "+ec.Message.Parts[0].Text()
			if ec.StoredTask == nil {
				state, text = a2a.TaskStateInputRequired, "Which city?"
			}
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
			yield(a2a.NewStatusUpdateEvent(ec, state, answer), nil)
		}))
	hub.Handle(&a2a.AgentCard{Name: "Clerk"}, agent.Func(
		func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("Vienna"))
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, answer), nil)
		}))

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	go func() { done <- hub.Run(ctx) }()
	srv := httptest.NewServer(hub.Handler())

	body := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"What is the weather?"}]}}`
	resp, err := http.Post(srv.URL+"/v1/a2a/weather/message:send", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	fmt.Println(strings.Contains(string(answer), `"Rain in Vienna"`))

	srv.Close()
	stop()
	fmt.Println(<-done)
	// Output:
	// true
	// <nil>
}
