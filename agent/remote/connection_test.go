package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestChangingCard checks that an agent which shows another card at each reading does not make
// the hub keep a connection for each of them, and that a call on an earlier one still works.
func TestChangingCard(t *testing.T) {
	t.Parallel()
	reads := 0
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":"1","result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`)
			return
		}
		reads++ // the agent reads one card at a time
		fmt.Fprintf(w, `{"name":"a","version":"%d","supportedInterfaces":[{"url":"/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, reads)
	}))
	t.Cleanup(ts.Close)
	a := &Agent{URL: ts.URL}
	first, err := a.peer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * maxOld {
		a.CardChanged()
		if _, err := a.peer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 3*maxOld+1 || len(a.connection.old) != maxOld {
		t.Errorf("after %d readings %d connections are kept, want %d", reads, len(a.connection.old), maxOld)
	}
	if ev, err := first.Get(t.Context(), "t", nil); err != nil || ev.TaskID != "t" {
		t.Errorf("Get on the first connection = %+v, %v", ev, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
