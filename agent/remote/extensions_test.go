package remote_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// TestExtensionsOfARepeatedSend kills the hub while its message is on the way: the next one
// sends it again, with the extensions of its caller beside those of the configuration.
func TestExtensionsOfARepeatedSend(t *testing.T) {
	t.Parallel()
	s := &stranger{hung: make(chan struct{}), turns: []turn{asks("COMPLETED", "", artifacts(artifact("a", "here")))}}
	h := strangerHub(t, s, way{block: true}, func(a *remote.Agent) {
		a.Idempotent, a.Header = true, http.Header{"A2a-Extensions": {"urn:x:fixed, urn:x:one"}}
	})
	caller := &op.Caller{Principal: alice.Principal, Extensions: []string{"urn:x:one", "urn:x:two"}}
	a, err := h.Send(t.Context(), caller, now(say("hi")))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.hung:
	case <-time.After(time.Minute):
		t.Fatal("the message has not arrived")
	}
	h.again()
	h.wait(a.Head.ID, task.Completed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.heads) != 2 {
		t.Fatalf("the peer was asked %d times, want twice", len(s.heads))
	}
	for i, head := range s.heads {
		if got, want := head.Get("A2A-Extensions"), "urn:x:fixed,urn:x:one,urn:x:two"; got != want {
			t.Errorf("send %d names %q, want %q", i+1, got, want)
		}
	}
}
