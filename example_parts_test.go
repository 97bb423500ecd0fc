package parley_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/worker"
)

// A hub with its own interface, a directory, and an agent in another process, which the hub
// reaches over a bus. In production the bus is that of a broker, and the worker is a separate
// program.
func ExampleHub_API() {
	b := new(worker.Memory)
	hub := &parley.Hub{API: true, Queues: &parley.Queues{Bus: b, ID: "hub1"}, Directory: &parley.Directory{}}
	hub.Handle(&a2a.AgentCard{Name: "poet", Description: "Writes poems."}, &parley.QueueAgent{Dispatcher: hub.Queues})
	poet := &worker.Worker{Bus: b.Peer(), Name: "poet", Executor: agent.Func(
		func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("A poem on "+agent.Text(x.Message))), nil)
		})}

	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{hub.Run, poet.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				fmt.Println(err)
			}
		})
	}
	call := func(method, path, body string) string {
		r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = "127.0.0.1:9"
		w := httptest.NewRecorder()
		hub.Handler().ServeHTTP(w, r)
		return w.Body.String()
	}
	answer := call("POST", "/v1/a2a/message:send", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"the sea"}]}}`)
	fmt.Println(strings.Contains(answer, "A poem on the sea"))
	fmt.Println(strings.Contains(call("GET", "/api/v1/agents", ""), `"name":"poet"`))
	fmt.Println(strings.Contains(call("GET", "/api/v1/search?q=poems", ""), `"id":"poet"`))
	stop()
	wg.Wait()
	// Output:
	// true
	// true
	// true
}
