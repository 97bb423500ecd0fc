package queue_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/usertoken"
	"github.com/parley-a2a/parley/task"
)

// TestWorkerKnowsTheCaller: the worker gets the identity, organisation and roles of the caller
// in a signed envelope; it does not get the caller's token.
func TestWorkerKnowsTheCaller(t *testing.T) {
	t.Parallel()
	h := startHub(t, nil)
	type seen struct {
		Principal *auth.Principal
		Owner     task.Owner
		Token     string
	}
	h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		p := auth.PrincipalFrom(ctx)
		text, err := json.Marshal(seen{p, p.Owner(), usertoken.From(ctx).Reveal()})
		if err != nil {
			yield(nil, err)
			return
		}
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(string(text)))), nil)
	}), nil)
	for _, p := range []*auth.Principal{
		{ID: "a:alice", DisplayName: "Alice", Org: "acme", Roles: []string{"ops", "user"}, Claims: map[string]string{"iss": "https://hub-a.example"}},
		{ID: "bob\"}\nroles: [admin]"},
		{ID: auth.Local},
	} {
		a, err := h.Send(t.Context(), &op.Caller{Principal: p, Bearer: usertoken.New("own-secret")}, &op.Send{
			Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got seen
		if err := json.Unmarshal([]byte(a.Fold.ReplyText()), &got); err != nil {
			t.Fatalf("the worker says %q: %v", a.Fold.ReplyText(), err)
		}
		if diff := cmp.Diff(seen{Principal: p, Owner: p.Owner()}, got); diff != "" {
			t.Errorf("the worker sees (-want +got):\n%s", diff)
		}
	}
}
