package parley_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestHubRemembersResults checks that the result of a request that names a session is recorded
// in the hub's memory.
func TestHubRemembersResults(t *testing.T) {
	t.Parallel()
	store, notes := new(memstore.Store), new(memory.Notes)
	hub := &parley.Hub{Store: store, Memory: &parley.Memory{Notes: notes}}
	echo := builtin.Agents()[0]
	hub.Handle(echo.Card, echo.Executor)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := serve(t, hub)
	body := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]},"metadata":{"sessionId":"s1"}}`
	resp, err := http.Post(s.url+"/v1/a2a/message:send", "application/json", strings.NewReader(body))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST = %v, %v", resp, err)
	}
	resp.Body.Close()
	for e, err := range notes.Watch(ctx, "local", "session/s1/") {
		if err != nil || e.Category != recorder.CategoryResult || e.Preview != "hello" {
			t.Errorf("the first note is %+v, %v", e, err)
		}
		return
	}
	t.Error("there is no note")
}
