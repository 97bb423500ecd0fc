package httpfront_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// pause works until the gate is closed, then it asks for input.
func pause(gate <-chan struct{}) a2asrv.AgentExecutor {
	return described(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield yielder) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) {
			return
		}
		select {
		case <-gate:
			yield(status(ec, a2a.TaskStateInputRequired, "which city?"), nil)
		case <-ctx.Done():
		}
	})
}

// TestLegacyStreamsEndWithTheQuestion checks that a reader of v0.3 gets an event marked as the
// last one when the task asks for input, and that the stream ends there.
func TestLegacyStreamsEndWithTheQuestion(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := startHub(t, httpfront.Config{}, newAgent("pause", pause(gate)))
	now := strings.Replace(withTask("t", message("hi")), `}]}}`, `}]},"configuration":{"returnImmediately":true}}`, 1)
	if ans := h.do("POST", "/v1/a2a/message:send", now); ans.code != http.StatusOK {
		t.Fatalf("send = %v", ans)
	}
	streams := map[string]*http.Response{
		`{"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t"`: h.open(t.Context(), "POST", "/a2a", rpc("tasks/resubscribe", `{"id":"t"}`)),
		`{"statusUpdate":{"taskId":"t"`:                                         h.open(t.Context(), "GET", "/v1/tasks/t:subscribe", ""),
	}
	close(gate)
	for begin, resp := range streams {
		all := allEvents(t, resp)
		end := all[len(all)-1]
		if !strings.HasPrefix(end.data, begin) || !strings.Contains(end.data, `"final":true`) || end.id == "" {
			t.Errorf("last of %d events = %+v, want a final %s", len(all), end, begin)
		}
		if strings.Contains(all[0].data, `"final":true`) {
			t.Errorf("first event = %s, want none that says that nothing follows", all[0].data)
		}
	}
}
