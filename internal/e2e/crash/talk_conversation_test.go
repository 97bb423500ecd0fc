package crash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// kind is a kind of conversation.
type kind struct {
	name, agent, key string
	hold             func(context.Context, *conversation) error
	// most is the largest number of such conversations; zero means any number.
	most int
}

// conversation is one task with the messages of its caller, which also reads the task.
type conversation struct {
	*kind
	reader
	w  *twoHubs
	id string
	// texts are the messages of the caller, in order, that the hub has accepted.
	texts []string
	// asked is the id of the question that was answered last, and askedAt is its timestamp.
	asked, askedAt string
	// won are the effective decisions about items of the inbox, as reported by the hub.
	won map[string]string
	// questions is the number of questions of the agent.
	questions int
	err       error
}

// waits is the hub's message that another person was asked.
const waits = "This question waits for the owner of this hub."

// lines returns the messages before the end, without those of the hub itself.
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

// twice returns a message that the hub has sent twice, or "".
func (t *taskJSON) twice() string {
	output := map[string]bool{}
	for i := range t.History {
		text := t.History[i].text()
		if strings.HasPrefix(text, waits) && output[text] {
			return text
		}
		output[text] = true
	}
	return ""
}

// errOver is returned by say if the task has ended.
var errOver = errors.New("the task has ended")

// say sends a message, and repeats it until the hub has accepted it.
func (st *conversation) say(ctx context.Context, text string) error {
	body := sending{task: st.id, context: "ctx-" + st.id, id: fmt.Sprint(st.id, "-", len(st.texts)), text: text, session: st.id}.body()
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

func (st *conversation) get(ctx context.Context) (*taskJSON, error) {
	t := new(taskJSON)
	return t, st.w.near.call(ctx, st.key, hubtest.Request{URL: "/v1/a2a/tasks/" + st.id + "?historyLength=100"}, t)
}

// await waits until want accepts the task, or the task has ended. An accepted task must always
// be known to the hub.
func (st *conversation) await(ctx context.Context, want func(*taskJSON) bool) (*taskJSON, error) {
	for {
		t, err := st.get(ctx)
		if err != nil {
			return nil, err
		}
		if t.ended() || want(t) {
			return t, nil
		}
		back := st.w.p.back()
		waits := func() bool { return st.state == "INPUT_REQUIRED" || st.state == "AUTH_REQUIRED" || st.reader.ended() }
		err = st.resume(ctx, st.w.near.URL(), waits)
		if err != nil && !isViolation(err) && pause(ctx, back) == nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the task is %s after %q: %w", t.state(), st.texts, err)
		}
	}
}

// asks reports whether the agent asks a question that was not answered yet, or repeats the last
// one because the answer has not arrived.
func (st *conversation) asks(t *taskJSON) bool {
	return t.state() == "INPUT_REQUIRED" && (t.Status.Message.ID != st.asked || t.Status.Timestamp != st.askedAt)
}

func never(*taskJSON) bool { return false }

// answer answers the questions of the agent until the task has ended.
func (st *conversation) answer(ctx context.Context, answers func(n int, question string) string) error {
	for n := 0; ; {
		t, err := st.await(ctx, st.asks)
		if err != nil || t.ended() {
			return err
		}
		if t.Status.Message.ID != st.asked {
			n++
		}
		st.asked, st.askedAt = t.Status.Message.ID, t.Status.Timestamp
		err = st.say(ctx, answers(n, t.Status.Message.text()))
		if errors.Is(err, errOver) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
