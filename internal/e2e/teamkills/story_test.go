package teamkills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// story is one task of the planner.
type story struct {
	w      *world
	moment moment
	key    string
	struck bool // guarded by world.mu
	err    error
	// read is what the reader of the stream got, who goes on where it was.
	read []frame
	// answered says that the question has got its answer.
	answered bool
}

// frame is an event of a stream.
type frame struct{ ID, Data string }

// taskJSON is what the tests read of a task.
type taskJSON struct {
	ID        string        `json:"id"`
	ContextID string        `json:"contextId"`
	History   []messageJSON `json:"history"`
	Artifacts []struct {
		ArtifactID string     `json:"artifactId"`
		Parts      []partJSON `json:"parts"`
	} `json:"artifacts"`
	Status struct {
		State     string      `json:"state"`
		Message   messageJSON `json:"message"`
		Timestamp string      `json:"timestamp"`
	} `json:"status"`
}

type messageJSON struct {
	Role  string     `json:"role"`
	Parts []partJSON `json:"parts"`
}

type partJSON struct {
	Text string `json:"text"`
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

// answer is the text of the answer.
func (t *taskJSON) answer() string {
	for i := range t.Artifacts {
		return textOf(t.Artifacts[i].Parts)
	}
	return t.Status.Message.text()
}

func (st *story) task() string { return "task-" + st.key }

// tell tells the story to its end.
func (st *story) tell() {
	ctx, cancel := context.WithTimeout(st.w.t.Context(), patience)
	defer cancel()
	text := "plan " + st.key
	if st.moment.ask != "" {
		text += " ask " + st.moment.ask
	}
	if st.err = st.say(ctx, text, 0); st.err == nil {
		st.w.at("sent", st.key)
		st.err = st.follow(ctx)
	}
	if st.err != nil {
		st.w.t.Errorf("story %s, %+v: %v", st.key, st.moment, st.err)
	}
}

// say says something, with the same message until the hub has taken it.
func (st *story) say(ctx context.Context, text string, n int) error {
	body := fmt.Sprintf(`{"message":{"taskId":%q,"contextId":%q,"messageId":"%s-%d","role":"ROLE_USER","parts":[{"text":%q}]},`+
		`"configuration":{"returnImmediately":true}}`, st.task(), "ctx-"+st.key, st.key, n, text)
	if err := st.w.call(ctx, hubtest.Request{URL: "/v1/a2a/planner/message:send", Body: body}, nil); err != nil {
		return fmt.Errorf("say %q: %w", text, err)
	}
	return nil
}

// follow reads the task from its first entry to its end, and answers the question. When
// the stream breaks, it goes on after the last entry that it has.
func (st *story) follow(ctx context.Context) error {
	for last := "1"; ; {
		back := st.w.back()
		over, err := st.readFrom(ctx, &last)
		if over || err != nil {
			return err
		}
		if err := pause(ctx, back); err != nil {
			return fmt.Errorf("the task does not end: %w; the last entry is %s: %+v", err, last, st.read[max(0, len(st.read)-1):])
		}
	}
}

// readFrom reads on until the stream breaks, or reports that the task is over.
func (st *story) readFrom(ctx context.Context, last *string) (over bool, err error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodPost, URL: st.w.hub.URL() + "/v1/a2a/tasks/" + st.task() + ":subscribe", Header: []string{"Last-Event-ID", *last},
	})
	if err != nil {
		return false, nil // the hub is away
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return true, nil
	case http.StatusServiceUnavailable:
		return false, nil
	default:
		b, _ := io.ReadAll(resp.Body)
		return false, fmt.Errorf("subscribe after %s: %s: %s", *last, resp.Status, b)
	}
	for ev, err := range hubtest.Events(resp.Body) {
		if err != nil {
			return false, nil
		}
		if over, err := st.take(ctx, ev, last); over || err != nil {
			return over, err
		}
	}
	return false, nil
}

// take takes an event, and reports whether it is the last.
func (st *story) take(ctx context.Context, ev hubtest.Event, last *string) (over bool, err error) {
	before, _ := strconv.Atoi(*last)
	if now, err := strconv.Atoi(ev.ID); err != nil || now <= before {
		return false, fmt.Errorf("the entry %q comes after %s: %s", ev.ID, *last, ev.Data)
	}
	st.read = append(st.read, frame{ev.ID, ev.Data})
	*last = ev.ID
	var e struct{ StatusUpdate taskJSON }
	if err := json.Unmarshal([]byte(ev.Data), &e); err != nil {
		return false, fmt.Errorf("event %s: %w", ev.Data, err)
	}
	if e.StatusUpdate.state() == "INPUT_REQUIRED" && !st.answered {
		st.answered = true
		st.w.at("suspended", st.key)
		if err := st.say(ctx, "green", 1); err != nil {
			return false, err
		}
		st.w.at("answered", st.key)
	}
	return e.StatusUpdate.ended(), nil
}

func (st *story) get(ctx context.Context) (*taskJSON, error) {
	t := new(taskJSON)
	return t, st.w.call(ctx, hubtest.Request{URL: "/v1/a2a/tasks/" + st.task() + "?historyLength=100"}, t)
}

// replay reads the task again, from its first entry.
func (st *story) replay(ctx context.Context) ([]frame, error) {
	resp, err := hubtest.Do(ctx, hubtest.Request{
		Method: http.MethodPost, URL: st.w.hub.URL() + "/v1/a2a/tasks/" + st.task() + ":subscribe", Header: []string{"Last-Event-ID", "1"},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var all []frame
	for ev, err := range hubtest.Events(resp.Body) {
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, frame{ev.ID, ev.Data})
	}
	return all, nil
}
