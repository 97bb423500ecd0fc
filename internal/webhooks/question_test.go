package webhooks

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
)

// TestWebhooksOutlastAQuestion wants a webhook to get the events that follow a question, even
// if it was registered after the question.
func TestWebhooksOutlastAQuestion(t *testing.T) {
	bubble(t, func(w *world) {
		w.start()
		j := w.task("t1")
		j.hook(task.HookRequest{ID: "c1", URL: hookURL})
		j.work()
		j.add(tasktest.Status(w.now(), task.InputRequired, "which city?"))
		w.pass(time.Second)
		late := hookURL + "late"
		j.hook(task.HookRequest{ID: "c2", URL: late})
		j.add(tasktest.FollowUp(w.now(), "Oslo"))
		j.complete()
		w.pass(time.Second)
		want(t, "sent", w.net.texts(hookURL), "TASK_STATE_WORKING which city? TASK_STATE_COMPLETED")
		want(t, "sent to the late hook", w.net.texts(late), "TASK_STATE_COMPLETED")
	})
}
