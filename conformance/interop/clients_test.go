package interop

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent/builtin"
)

// TestClients lets each SDK's client take each scenario over each of its bindings.
func TestClients(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	for name, connect := range map[string]func(t *testing.T, binding string) client{
		"go": func(t *testing.T, binding string) client { return newGoClient(t, hub, a2a.TransportProtocol(binding)) },
		"js": func(t *testing.T, binding string) client { return newJSClient(t, hub, binding) },
	} {
		for _, binding := range []string{"JSONRPC", "HTTP+JSON", "GRPC"} {
			path := name + "/" + binding
			t.Run(path, func(t *testing.T) {
				cl := connect(t, binding)
				for _, s := range scenarios {
					t.Run(s.name, func(t *testing.T) {
						ctx, cancel := context.WithTimeout(t.Context(), timeout)
						defer cancel()
						s.run(&caller{T: t, client: cl, ctx: ctx, path: path})
					})
				}
			})
		}
	}
}

// wantChart returns the image that the agent report makes of words, without any hub.
func wantChart(t *testing.T, words string) []byte {
	t.Helper()
	for _, a := range builtin.Agents() {
		if a.Name != "report" {
			continue
		}
		ec := &a2asrv.ExecutorContext{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(words))}
		for ev := range a.Executor.Execute(t.Context(), ec) {
			if u, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok && u.Artifact.Name == "chart.png" {
				return u.Artifact.Parts[0].Raw()
			}
		}
	}
	t.Fatal("there is no chart to compare with")
	return nil
}
