package console

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/membudget"
)

// A stream of a task holds no memory of the answers that its events were made of, and the hub counts each of its
// events.
func TestStreamsHoldNoAnswers(t *testing.T) {
	t.Parallel()
	large := `{"task":{},"entries":[{"version":1,"kind":"message","message":{"text":"` + strings.Repeat("x", 1<<20) + `"}}]}`
	read, checked := 0, 0
	h := new(Handler)
	check := func(r *http.Request) {
		checked++
		if used := h.memory.Stats().Used; used != 0 || membudget.AccountOf(r.Context()) != nil {
			t.Errorf("at check %d: %d bytes are used, the account is %v; want none", checked, used, membudget.AccountOf(r.Context()))
		}
	}
	h.Hub = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/caller":
			_, _ = io.WriteString(w, `{"id":"ann","owner":"ann"}`)
		case "/api/v1/tasks/x/log":
			read++
			_, _ = io.WriteString(w, large)
		case "/api/v1/tasks/x/log/events":
			check(r)
			_, _ = fmt.Fprint(w, "data: {\"version\":2,\"kind\":\"status\",\"state\":\"TASK_STATE_WORKING\"}\n\n")
			check(r)
			_, _ = fmt.Fprint(w, "data: {}\n\n")
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	defer h.Close()
	r, body := (&membudget.Budget{Max: 64 << 20}).Body(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/task/events?id=x&after=1", nil), 0)
	defer body.Release()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if read != 2 || checked != 2 || !strings.Contains(w.Body.String(), "event: head") || !strings.Contains(w.Body.String(), "event: end") {
		t.Errorf("%d reads, %d checks, the stream is\n%.2000s", read, checked, w.Body)
	}
}
