package queue_test

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
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/worker"
)

// A hub and a worker share a bus. In production they are two processes, and the bus is that of
// a broker.
func Example() {
	b, store := new(bus.Memory), new(memstore.Store)
	dispatcher := &queue.Dispatcher{Bus: b, ID: "hub1", Tasks: store}
	hub := &parley.Hub{Store: store}
	hub.Handle(&a2a.AgentCard{Name: "poet"}, &queue.Agent{Dispatcher: dispatcher})

	w := &worker.Worker{Bus: b.Peer(), Name: "poet", Executor: agent.Func(
		func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("A poem on "+agent.Text(x.Message))), nil)
		})}

	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{hub.Run, dispatcher.Run, w.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				fmt.Println(err)
			}
		})
	}
	body := `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"the sea"}]}}`
	request := httptest.NewRequest("POST", "http://127.0.0.1/v1/a2a/message:send", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.RemoteAddr = "127.0.0.1:9"
	answer := httptest.NewRecorder()
	hub.Handler().ServeHTTP(answer, request)
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), `{"text":"A poem on the sea"}`))
	stop()
	wg.Wait()
	// Output: 200 true
}
