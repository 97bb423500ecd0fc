package adminapi_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestHeadOfStreams checks that HEAD requests for streams of events are answered at once.
func TestHeadOfStreams(t *testing.T) {
	t.Parallel()
	logs, id := logged(t)
	store := new(memstore.Store)
	for path, h := range map[string]*adminapi.Handler{
		"/tasks/a%2F1/tree/events":              {Hub: newHub(), Trees: newWoods()},
		"/tasks/" + string(id) + "/log/events":  logs,
		"/inbox/events":                         withInbox(t),
		"/counts/events":                        {Hub: newHub(), Tasks: store, Events: &events.Recorder{Store: store}},
		"/memory/events?prefix=a":               remembering(),
		"/tasks/" + string(id) + "/tree/events": logs,
	} {
		ctx, cancel := context.WithTimeout(auth.WithPrincipal(t.Context(), clerk), time.Minute)
		got := send(h, httptest.NewRequestWithContext(ctx, "HEAD", "/api/v1"+path, nil))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("HEAD %s is not answered", path)
		}
		cancel()
		switch kind := got.header.Get("Content-Type"); {
		case got.body != "":
			t.Errorf("HEAD %s has the body %q", path, got.body)
		case got.code == 200 && kind != "text/event-stream", got.code != 200:
			t.Errorf("HEAD %s = %d %s", path, got.code, kind)
		}
	}
}
