package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// plan is one task of the planner with its reader, which resumes after each kill.
type plan struct {
	reader
	w      *team
	moment moment
	key    string
	struck bool // guarded by team.mu
	err    error
	// answered is set once the question has been answered.
	answered bool
}

func (st *plan) task() string { return "task-" + st.key }

// perform begins the plan and follows it to its end.
func (st *plan) perform() {
	ctx, cancel := context.WithTimeout(st.w.t.Context(), teamPatience)
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
		st.w.t.Errorf("plan %s, %+v: %v", st.key, st.moment, st.err)
	}
}

// say sends a message, and repeats it until the hub has accepted it.
func (st *plan) say(ctx context.Context, text string, n int) error {
	body := sending{task: st.task(), context: "ctx-" + st.key, id: fmt.Sprint(st.key, "-", n), text: text}.body()
	if err := st.w.hub.call(ctx, "", hubtest.Request{URL: "/v1/a2a/planner/message:send", Body: body}, nil); err != nil {
		return fmt.Errorf("say %q: %w", text, err)
	}
	return nil
}

// follow reads the task from its first entry to its end, and answers the question.
func (st *plan) follow(ctx context.Context) error {
	asks := func() bool { return st.state == asking && !st.answered }
	for !st.ended() {
		back := st.w.p.back()
		err := st.resume(ctx, st.w.hub.URL(), func() bool { return st.ended() || asks() })
		switch code := hubtest.Status(err); {
		case isViolation(err), code != 0 && code != http.StatusServiceUnavailable:
			return err
		case err != nil:
			if cause := pause(ctx, back); cause != nil {
				return fmt.Errorf("the task does not end: %w; %w; the last entry is %d: %+v", cause, err, st.last, st.events[max(0, len(st.events)-1):])
			}
		case asks():
			st.answered = true
			st.w.at("suspended", st.key)
			if err := st.say(ctx, "green", 1); err != nil {
				return err
			}
			st.w.at("answered", st.key)
		}
	}
	return nil
}

func (st *plan) get(ctx context.Context) (*taskJSON, error) {
	t := new(taskJSON)
	return t, st.w.hub.call(ctx, "", hubtest.Request{URL: "/v1/a2a/tasks/" + st.task() + "?historyLength=100"}, t)
}

// replay reads the task again, from its first entry.
func (st *plan) replay(ctx context.Context) ([]hubtest.Event, error) {
	again := reader{skips: true, anew: true, id: st.task(), last: 1}
	err := again.resume(ctx, st.w.hub.URL(), func() bool { return false })
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return again.events, nil
}
