package hubclient_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// between calls do after the answer to the first request for the reason of a task.
type between struct{ do func() }

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if do := b.do; do != nil && strings.HasPrefix(r.URL.Path, "/api/v1/tasks/") {
		b.do = nil
		do()
	}
	return resp, err
}

// TestReasonOfTheState: a task that has changed its state since the hub was asked for the reason has none.
func TestReasonOfTheState(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{})
	operate := func(verb string) {
		r := hubtest.Request{URL: h.URL() + "/api/v1/agents/interview/" + verb, Body: "{}"}
		if err := hubtest.Call(t.Context(), r, nil); err != nil {
			t.Error(err)
		}
	}
	operate("pause")
	plain := &hubclient.Hub{URL: h.URL()}
	first, err := plain.Send(t.Context(), &hubclient.Send{Agent: "interview", Parts: []*a2a.Part{a2a.NewTextPart("ask 1")}})
	if err != nil {
		t.Fatal(err)
	}
	id := first.Task.ID
	if got, err := plain.Task(t.Context(), id); err != nil || got.Waiting != "agent-paused" {
		t.Fatalf("Task of a paused agent = %+v, %v", got, err)
	}
	late := &hubclient.Hub{URL: h.URL(), HTTP: &http.Client{Transport: &between{func() {
		operate("resume")
		if _, err := plain.Follow(t.Context(), id, hubclient.FollowOptions{}); err != nil { // until it asks
			t.Error(err)
		}
	}}}}
	got, err := late.Task(t.Context(), id)
	if err != nil || got.Task.Status.State != a2a.TaskStateInputRequired || got.Waiting != "" {
		t.Errorf("Task = %+v with state %s, %v; want a question without the reason of the earlier state", got, got.Task.Status.State, err)
	}
}
