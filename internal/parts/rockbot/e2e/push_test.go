package rockbot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// curiousWork reports progress, and then asks about each text that begins with "ask".
func curiousWork(task *rb.Task) (*rb.Result, error) {
	text := task.Message.Text()
	if err := task.Status(rb.Working, "thinking about "+text); err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "ask") {
		return task.Result(rb.InputRequired, "what about "+text+"?"), nil
	}
	return task.Result(rb.Completed, "done with "+text), nil
}

// TestPushThroughQuestions: a webhook that was registered with the first message gets each status
// of a task in order, through questions, answers by the context alone, a kill of the hub, and the
// cancellation or the end. A canceled task accepts no answer, and its context continues.
func TestPushThroughQuestions(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t).VHost(t)
	agent := rb.StartAgent(t, url, &rb.Agent{Name: "ExtractionAgent", Handle: curiousWork})
	h := hubtest.Start(t, hubtest.Options{Config: config(url) + "push: {allow: [loopback]}\n"})
	alice := &rockbothttp.Caller{URL: h.URL() + "/a2a/extraction", Key: aliceKey}
	hook := rockbothttp.StartWebhook(t, "secret")
	send := func(context, text, more string) *rockbothttp.Event {
		t.Helper()
		e, err := alice.Send(within(t), fmt.Sprintf(`{"message":{"role":"user","contextId":%q,"parts":[{"text":%q}]}%s}`, context, text, more))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// told returns the statuses for the webhook up to the last one, without repetitions.
	told := func(last string) (got []string) {
		t.Helper()
		for len(got) == 0 || got[len(got)-1] != last {
			var f rockbothttp.Frame
			select {
			case f = <-hook.Notes:
			case <-within(t).Done():
				t.Fatalf("after %q there is no %q", got, last)
			}
			s := f.Event.StatusUpdate
			if s == nil {
				continue
			}
			if one := strings.TrimSuffix(s.Status.State+": "+s.Status.Message.Text(), ": "); len(got) == 0 || got[len(got)-1] != one {
				got = append(got, one)
			}
		}
		return got
	}
	begin := func(context string) string {
		t.Helper()
		asked := send(context, "ask 1", `,"configuration":{"pushNotificationConfig":{"id":"p","url":"`+hook.URL+`","token":"secret"}}`)
		if asked.Task == nil || asked.Task.Status.State != "inputRequired" {
			t.Fatalf("asked %+v", asked)
		}
		return asked.Task.ID
	}
	rounds := []string{"working", "working: thinking about ask 1", "inputRequired: what about ask 1?"}
	second := []string{"working", "working: thinking about ask 2", "inputRequired: what about ask 2?"}

	id := begin("trip")
	if diff := cmp.Diff(rounds, told(rounds[2])); diff != "" {
		t.Errorf("first question (-want +got):\n%s", diff)
	}
	h.Restart()
	if e := send("trip", "ask 2", ""); e.Task == nil || e.Task.ID != id {
		t.Errorf("the answer by the context is %+v", e)
	}
	// After a kill, notifications that were sent before it may come again, in the same order.
	got := told(second[2])
	if diff := cmp.Diff(append(slices.Clone(rounds), second...)[max(0, len(rounds)+len(second)-len(got)):], got); diff != "" {
		t.Errorf("second question (-want +got):\n%s", diff)
	}
	if task, err := alice.Task(within(t), "CancelTask", `{"id":"`+id+`"}`); err != nil || task.Status.State != "canceled" {
		t.Errorf("CancelTask = %+v, %v", task, err)
	}
	if diff := cmp.Diff([]string{"canceled"}, told("canceled")); diff != "" {
		t.Errorf("after the cancellation (-want +got):\n%s", diff)
	}
	if _, err := alice.Send(within(t), fmt.Sprintf(`{"message":{"role":"user","taskId":%q,"parts":[{"text":"late"}]}}`, id)); err == nil || !strings.HasPrefix(err.Error(), "-32004 ") {
		t.Errorf("an answer to the canceled task: %v", err)
	}
	if e := send("trip", "the rest", ""); e.Message == nil || e.Message.TaskID == id || e.Message.Text() != "done with the rest" {
		t.Errorf("the next message of the context is answered with %+v", e)
	}
	begin("other")
	send("other", "it all", "")
	end := append(slices.Clone(rounds), "working", "working: thinking about it all", "completed: done with it all")
	if diff := cmp.Diff(end, told(end[len(end)-1])); diff != "" {
		t.Errorf("a task that ends (-want +got):\n%s", diff)
	}
	agent.Unread()
}
