package kills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// teller tells stories of one kind.
type teller struct {
	kind, agent, key string
	tell             func(context.Context, *story) error
	// most is how many stories are told; zero means any number.
	most int
}

// story is one task with what was said in it.
type story struct {
	w               *world
	kind, agent, id string
	key             string
	// texts are what the caller has said, in order, as far as the hub has taken it.
	texts []string
	// asked is the question that was answered last.
	asked string
	// won are the decisions about items of the inbox that count, as I was told.
	won map[string]string
	// questions is how many the agent asks.
	questions int
	err       error
}

// taskJSON is what the tests read of a task.
type taskJSON struct {
	ID        string        `json:"id"`
	ContextID string        `json:"contextId"`
	History   []messageJSON `json:"history"`
	Artifacts []struct {
		Parts []partJSON `json:"parts"`
	} `json:"artifacts"`
	Status struct {
		State   string      `json:"state"`
		Message messageJSON `json:"message"`
	} `json:"status"`
}

type messageJSON struct {
	ID    string     `json:"messageId"`
	Role  string     `json:"role"`
	Parts []partJSON `json:"parts"`
}

type partJSON struct {
	Text string `json:"text"`
	Data struct {
		Agreed     *bool
		Start, End string
	} `json:"data"`
}

func (m *messageJSON) text() string { return textOf(m.Parts) }

func textOf(parts []partJSON) string {
	var b strings.Builder
	for i := range parts {
		b.WriteString(parts[i].Text)
	}
	return b.String()
}

func (t *taskJSON) state() string { return strings.TrimPrefix(t.Status.State, "TASK_STATE_") }

func (t *taskJSON) ended() bool {
	switch t.state() {
	case "COMPLETED", "FAILED", "CANCELED", "REJECTED":
		return true
	}
	return false
}

// reply is what the task has come to, in words.
func (t *taskJSON) reply() string {
	var b strings.Builder
	for i := range t.Artifacts {
		b.WriteString(textOf(t.Artifacts[i].Parts))
	}
	if b.Len() > 0 && t.state() == "COMPLETED" {
		return b.String()
	}
	return t.Status.Message.text()
}

// waits is how the hub says that somebody else was asked.
const waits = "This question waits for the owner of this hub."

// lines is what was said before the end, without what the hub says itself.
func (t *taskJSON) lines() []string {
	var all []string
	for i := range t.History {
		m := &t.History[i]
		switch {
		case m.Role == "ROLE_USER":
			all = append(all, "caller: "+m.text())
		case !strings.HasPrefix(m.text(), waits):
			all = append(all, "agent: "+m.text())
		}
	}
	return all
}

// twice returns what the hub has said twice, if anything.
func (t *taskJSON) twice() string {
	said := map[string]bool{}
	for i := range t.History {
		text := t.History[i].text()
		if strings.HasPrefix(text, waits) && said[text] {
			return text
		}
		said[text] = true
	}
	return ""
}

// errOver is returned by say if the task has ended.
var errOver = errors.New("the task has ended")

// say says something, with the same message until the hub has taken it.
func (st *story) say(ctx context.Context, text string) error {
	body := fmt.Sprintf(`{"message":{"taskId":%q,"contextId":%q,"messageId":"%s-%d","role":"ROLE_USER","parts":[{"text":%q}]},`+
		`"configuration":{"returnImmediately":true},"metadata":{"sessionId":%q}}`,
		st.id, "ctx-"+st.id, st.id, len(st.texts), text, st.id)
	err := st.w.near.call(ctx, st.key, hubtest.Request{URL: "/v1/a2a/" + st.agent + "/message:send", Body: body}, nil)
	if err == nil {
		st.texts = append(st.texts, text)
		return nil
	}
	if t, gone := st.get(ctx); gone == nil && t.ended() {
		return errOver
	}
	return fmt.Errorf("say %q: %w", text, err)
}

func (st *story) get(ctx context.Context) (*taskJSON, error) {
	t := new(taskJSON)
	return t, st.w.near.call(ctx, st.key, hubtest.Request{URL: "/v1/a2a/tasks/" + st.id + "?historyLength=100"}, t)
}

// await waits until the task is as wanted, or has ended. A task that was accepted is
// never unknown.
func (st *story) await(ctx context.Context, want func(*taskJSON) bool) (*taskJSON, error) {
	for {
		t, err := st.get(ctx)
		if err != nil {
			return nil, err
		}
		if t.ended() || want(t) {
			return t, nil
		}
		if err := st.follow(ctx, t); err != nil {
			return nil, fmt.Errorf("the task is %s after %q: %w", t.state(), st.texts, err)
		}
	}
}

// follow returns when the task may be otherwise than it was.
func (st *story) follow(ctx context.Context, was *taskJSON) error {
	back := st.w.near.back()
	resp, err := hubtest.Do(ctx, st.w.near.request(st.key, hubtest.Request{Method: "POST", URL: "/v1/a2a/tasks/" + st.id + ":subscribe"}))
	if err != nil {
		return pause(ctx, back)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return pause(ctx, back)
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return pause(ctx, back)
		}
		if moved(ev.Data, was) {
			return nil
		}
	}
	return nil
}

// moved reports whether an event says that the task waits or has ended, otherwise than it
// was. What was asked before stands in the history of the first event.
func moved(data string, was *taskJSON) bool {
	var ev struct{ Task, StatusUpdate taskJSON }
	if json.Unmarshal([]byte(data), &ev) != nil {
		return false
	}
	now := &ev.Task
	if now.Status.State == "" {
		now = &ev.StatusUpdate
	}
	asks := now.state() == "INPUT_REQUIRED" || now.state() == "AUTH_REQUIRED"
	return now.ended() || asks && (now.state() != was.state() || now.Status.Message.ID != was.Status.Message.ID)
}

// asks reports whether the agent asks something that was not answered yet.
func (st *story) asks(t *taskJSON) bool {
	return t.state() == "INPUT_REQUIRED" && t.Status.Message.ID != st.asked
}

func never(*taskJSON) bool { return false }

// answer answers what the agent asks, until the task has ended.
func (st *story) answer(ctx context.Context, answers func(n int, question string) string) error {
	for n := 1; ; n++ {
		t, err := st.await(ctx, st.asks)
		if err != nil || t.ended() {
			return err
		}
		st.asked = t.Status.Message.ID
		err = st.say(ctx, answers(n, t.Status.Message.text()))
		if errors.Is(err, errOver) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
