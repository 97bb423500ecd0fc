package adminapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/inbox"
)

// asked adds a question and returns it.
func asked(t *testing.T, h *adminapi.Handler, who *auth.Principal, body string) inbox.Item {
	t.Helper()
	var it inbox.Item
	got := as(t, h, who, "POST /api/v1/inbox", body)
	if err := json.Unmarshal([]byte(got.body), &it); err != nil || got.code != 200 {
		t.Fatalf("POST = %d %s", got.code, got.body)
	}
	return it
}

func TestQuestionOfACaller(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	h.Inbox = &inbox.Inbox{Deliver: func(context.Context, *inbox.Item, *inbox.Settlement) error {
		return errors.New("there is no task to deliver it to")
	}}
	first := asked(t, h, clerk, `{"key":"k","text":"red or blue?","agent":"planner"}`)
	if first.State != inbox.Open || first.Owner != "clerk" || first.Agent != "planner" || first.Task != "" {
		t.Fatalf("the question is %+v", first)
	}
	if again := asked(t, h, clerk, `{"key":"k","text":"something else"}`); again.ID != first.ID || again.Text != first.Text {
		t.Errorf("the same key again is %+v, want the first question", again)
	}
	ann := &auth.Principal{ID: "ann"}
	if other := asked(t, h, ann, `{"key":"k","text":"mine"}`); other.ID == first.ID {
		t.Error("two callers with one key share a question")
	}
	foreign := as(t, h, ann, "POST /api/v1/inbox/"+string(first.ID)+"/answer", `{"text":"x"}`)
	foreign.failure(t, 404, "NOT_FOUND", "ITEM_NOT_FOUND")
	if got := as(t, h, boss, "POST /api/v1/inbox/"+string(first.ID)+"/answer", `{"text":"blue"}`); got.code != 200 {
		t.Fatalf("answer = %d %s", got.code, got.body)
	}
	if got := asked(t, h, clerk, `{"key":"k","text":"red or blue?"}`); got.State != inbox.Answered || got.Answer != "blue" {
		t.Errorf("the question after its answer is %+v", got)
	}
}

func TestQuestionOfACallerRefuses(t *testing.T) {
	t.Parallel()
	h, _, _ := keyed(t)
	h.Inbox = new(inbox.Inbox)
	for _, body := range []string{`{}`, `{"text":" "}`, `{"text":"x","ttl":"soon"}`, `{"text":"x","ttl":"-1s"}`, `{"text":"x","ttl":"1000h"}`, `{"text":"x","colour":"red"}`, `["x"]`} {
		got := as(t, h, clerk, "POST /api/v1/inbox", body)
		got.failure(t, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
	}
	for i := range 100 {
		asked(t, h, clerk, fmt.Sprintf(`{"text":"question %d"}`, i))
	}
	full := as(t, h, clerk, "POST /api/v1/inbox", `{"text":"one more"}`)
	full.failure(t, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
	asked(t, h, &auth.Principal{ID: "ann"}, `{"text":"one of somebody else"}`)
}
