package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// goClient is the official Go SDK's client.
type goClient struct {
	hub     string
	binding a2a.TransportProtocol

	mu      sync.Mutex // guards the field below
	clients map[string]*a2aclient.Client
}

func newGoClient(t *testing.T, hub string, binding a2a.TransportProtocol) client {
	c := &goClient{hub: hub, binding: binding, clients: make(map[string]*a2aclient.Client)}
	t.Cleanup(func() {
		for _, cl := range c.clients {
			if err := cl.Destroy(); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// transport returns only the SDK's own transport for a binding.
func transport(b a2a.TransportProtocol) a2aclient.FactoryOption {
	switch b {
	case a2a.TransportProtocolJSONRPC:
		return a2aclient.WithJSONRPCTransport(nil)
	case a2a.TransportProtocolHTTPJSON:
		return a2aclient.WithRESTTransport(nil)
	}
	return a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// agent returns the SDK's client of an agent, found by its card.
func (g *goClient) agent(ctx context.Context, name string) (*a2aclient.Client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.clients[name]; c != nil {
		return c, nil
	}
	card, err := agentcard.DefaultResolver.Resolve(ctx, g.hub, agentcard.WithPath("/a2a/"+name+"/.well-known/agent-card.json"))
	if err != nil {
		return nil, err
	}
	c, err := a2aclient.NewFromCard(context.WithoutCancel(ctx), card,
		a2aclient.WithDefaultsDisabled(), transport(g.binding), a2aclient.WithCallInterceptors(versioner{}))
	if err != nil {
		return nil, err
	}
	g.clients[name] = c
	return c, nil
}

type versionKey struct{}

// versioner sends another protocol version if a scenario requests it.
type versioner struct {
	a2aclient.PassthroughInterceptor
}

func (versioner) Before(ctx context.Context, r *a2aclient.Request) (context.Context, any, error) {
	if v, _ := ctx.Value(versionKey{}).(string); v != "" {
		r.ServiceParams[a2a.SvcParamVersion] = []string{v}
	}
	return ctx, nil, nil
}

// params decodes a request into the SDK's type.
func params[T any](c call) *T {
	b, err := json.Marshal(c.Params)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", c.Op, err))
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		panic(fmt.Sprintf("%s: the SDK does not read %s: %v", c.Op, b, err))
	}
	return v
}

func (g *goClient) do(ctx context.Context, c call) (json.RawMessage, error) {
	cl, err := g.agent(ctx, c.Agent)
	if err != nil {
		return nil, err
	}
	v, err := goCall(context.WithValue(ctx, versionKey{}, c.Version), cl, c)
	if err != nil {
		return nil, goRefusal(err)
	}
	return json.Marshal(v)
}

func goCall(ctx context.Context, cl *a2aclient.Client, c call) (any, error) {
	switch c.Op {
	case "send":
		r, err := cl.SendMessage(ctx, params[a2a.SendMessageRequest](c))
		return a2a.StreamResponse{Event: r}, err
	case "get":
		return cl.GetTask(ctx, params[a2a.GetTaskRequest](c))
	case "list":
		return cl.ListTasks(ctx, params[a2a.ListTasksRequest](c))
	case "cancel":
		return cl.CancelTask(ctx, params[a2a.CancelTaskRequest](c))
	case "getPush":
		return cl.GetTaskPushConfig(ctx, params[a2a.GetTaskPushConfigRequest](c))
	case "createPush":
		return cl.CreateTaskPushConfig(ctx, params[a2a.PushConfig](c))
	case "listPush":
		configs, err := cl.ListTaskPushConfigs(ctx, params[a2a.ListTaskPushConfigRequest](c))
		return a2a.ListTaskPushConfigResponse{Configs: configs}, err
	case "deletePush":
		return nil, cl.DeleteTaskPushConfig(ctx, params[a2a.DeleteTaskPushConfigRequest](c))
	case "read":
		return params[a2a.StreamResponse](c), nil
	}
	return nil, fmt.Errorf("unknown call %q", c.Op)
}

func goRefusal(err error) error {
	return &refusal{Reason: a2a.ErrorReason(err), Message: err.Error()}
}

func (g *goClient) stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		cl, err := g.agent(ctx, c.Agent)
		if err != nil {
			yield(nil, err)
			return
		}
		var events iter.Seq2[a2a.Event, error]
		ctx := context.WithValue(ctx, versionKey{}, c.Version)
		if c.Op == "subscribe" {
			events = cl.SubscribeToTask(ctx, params[a2a.SubscribeToTaskRequest](c))
		} else {
			events = cl.SendStreamingMessage(ctx, params[a2a.SendMessageRequest](c))
		}
		for ev, err := range events {
			if err != nil {
				yield(nil, goRefusal(err))
				return
			}
			if b, err := json.Marshal(a2a.StreamResponse{Event: ev}); !yield(b, err) || err != nil {
				return
			}
		}
	}
}
