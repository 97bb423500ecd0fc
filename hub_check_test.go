package parley_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/check"
)

// TestHubOfTheManualPassesTheCheck checks the hub of README.md, which is the zero Hub with an
// agent that answers with a message.
func TestHubOfTheManualPassesTheCheck(t *testing.T) {
	t.Parallel()
	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "hello"}, agent.Func(
		func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Hello, "+agent.Text(x.Message)+"!")), nil)
		}))
	r, err := check.Run(t.Context(), check.Options{URL: serve(t, &hub).url})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range r.Results {
		if result.Outcome == check.Fail {
			t.Errorf("%s %s %s: %s", result.Interface, result.Level, result.ID, result.Detail)
		}
	}
	if !r.OK() {
		t.Error("the report is not OK")
	}
}
