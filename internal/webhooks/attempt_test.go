package webhooks

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// TestTriesAreReported: Config.Attempted is called for each try with its outcome.
func TestTriesAreReported(t *testing.T) {
	bubble(t, func(w *world) {
		var got []Attempt
		w.cfg.Attempted = func(a Attempt) { got = append(got, a) }
		codes := []int{http.StatusServiceUnavailable, http.StatusOK, http.StatusBadRequest, http.StatusGone}
		w.net.answer = func(*http.Request, *post) (int, error) {
			code := codes[0]
			codes = codes[1:]
			return code, nil
		}
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c1", URL: hookURL})
		for range 3 {
			j.add(tasktest.Status(w.now(), task.Working, "x"))
			w.pass(time.Minute)
		}
		at := func(v int64, delivered, final bool, reason string) Attempt {
			return Attempt{Owner: j.head.Owner, Task: "t1", Context: j.head.ContextID, Webhook: "c1", Version: v, Delivered: delivered, Final: final, Reason: reason}
		}
		want := []Attempt{
			at(2, false, false, "HTTP 503"), at(2, true, true, ""), at(3, false, true, "HTTP 400"), at(4, false, true, "HTTP 410: the webhook is gone"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
	})
}
