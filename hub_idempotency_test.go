package parley_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
)

// sendKeyed sends a message with a key and returns the id of its task.
func sendKeyed(t *testing.T, url string) string {
	t.Helper()
	const body = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/a2a/message:send", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "k")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), `"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("no task in %s", b)
	}
	return id
}

func TestHubIdempotency(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		idem parley.Idempotency
		same bool
	}{
		{"off", parley.Idempotency{}, false},
		{"by header", parley.Idempotency{Header: true}, true},
		{"by message id", parley.Idempotency{MessageID: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &parley.Hub{Idempotency: tt.idem}
			h.Handle(&a2a.AgentCard{Name: "echo"}, agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
			}))
			s := serve(t, h)
			if one, two := sendKeyed(t, s.url), sendKeyed(t, s.url); (one == two) != tt.same {
				t.Errorf("a repeated message gets the tasks %s and %s, want the same: %v", one, two, tt.same)
			}
		})
	}
}
