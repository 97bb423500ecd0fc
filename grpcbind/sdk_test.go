package grpcbind_test

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
)

// sdkClient returns the SDK's client of the hub.
func (h *hub) sdkClient() *a2aclient.Client {
	h.t.Helper()
	dial := a2aclient.TransportFactoryFn(func(_ context.Context, _ *a2a.AgentCard, _ *a2a.AgentInterface) (a2aclient.Transport, error) {
		return a2agrpc.NewGRPCTransportFromClient(h.client), nil
	})
	c, err := a2aclient.NewFromEndpoints(h.t.Context(),
		[]*a2a.AgentInterface{a2a.NewAgentInterface("hub", a2a.TransportProtocolGRPC)},
		a2aclient.WithTransport(a2a.TransportProtocolGRPC, dial))
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func user(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}
