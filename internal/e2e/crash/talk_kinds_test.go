package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// kinds are all kinds of conversations.
var kinds = []kind{
	{"interview", "interview", me, interviewed, 0},
	{"faraway", "faraway", partner, interviewed, 0},
	{"person", "person", partner, answered, 0},
	{"owner", "owner", partner, asked, 0},
	{"purchase", "till", partner, purchase, 0},
	{"observed", "till", untrusted, observed, 0},
	{"meeting", "negotiate-meeting", friend, meeting, 240}, // of 500 that the front desk accepts
	{"notice", "notify-user", friend, observed, 0},
}

// interviewed lets the hub answer some questions. Sometimes it also reads the conversation
// meanwhile.
func interviewed(ctx context.Context, st *conversation) error {
	st.questions = 1 + rand.IntN(5)
	if err := st.say(ctx, fmt.Sprintf("ask %d %s", st.questions, st.id)); err != nil {
		return err
	}
	if err := st.readAlong(ctx); err != nil {
		return err
	}
	_, err := st.await(ctx, never)
	return err
}

// readAlong reads the conversation while it continues, in half of all calls.
func (st *conversation) readAlong(ctx context.Context) error {
	if rand.IntN(2) == 0 {
		return nil
	}
	_, err := st.turns(ctx)
	return err
}

// answered answers some questions itself.
func answered(ctx context.Context, st *conversation) error {
	st.questions = 1 + rand.IntN(4)
	if err := st.say(ctx, fmt.Sprintf("ask %d %s", st.questions, st.id)); err != nil {
		return err
	}
	if err := st.readAlong(ctx); err != nil {
		return err
	}
	return st.answer(ctx, func(n int, _ string) string { return fmt.Sprintf("%s says %d", st.id, n) })
}

// observed sends one message and waits for the result.
func observed(ctx context.Context, st *conversation) error {
	if err := st.say(ctx, "tell "+st.id); err != nil {
		return err
	}
	_, err := st.await(ctx, never)
	return err
}

// day is the proposed day of all meetings: a Monday at least a week from now.
var day = func() string {
	at := time.Now().UTC().AddDate(0, 0, 7)
	for at.Weekday() != time.Monday {
		at = at.AddDate(0, 0, 1)
	}
	return at.Format("2006-01-02")
}()

// meeting negotiates a time for a meeting.
func meeting(ctx context.Context, st *conversation) error {
	if err := st.say(ctx, "Could we meet? "+st.id); err != nil {
		return err
	}
	return st.answer(ctx, func(n int, _ string) string {
		switch n {
		case 1:
			return fmt.Sprintf("%s %02d:00 for 5 minutes, %s", day, 9+rand.IntN(8), st.id)
		case 2:
			return "no, " + st.id
		}
		return fmt.Sprintf("yes %d, %s", n, st.id)
	})
}

// itemJSON contains the fields of an item of the inbox that the tests read.
type itemJSON struct {
	ID, Kind, Task, State, By, Answer, Draft, Text, Caller string
	Version                                                int64
}

// items returns items of the inbox of a state and a kind.
func (w *twoHubs) items(ctx context.Context, state, kind string) ([]itemJSON, error) {
	var all []itemJSON
	for token := ""; ; {
		var page struct {
			Items         []itemJSON
			NextPageToken string
		}
		path := "/api/v1/inbox" + query("state", state, "kind", kind, "pageSize", "100", "pageToken", token)
		if err := w.near.call(ctx, me, hubtest.Request{URL: path}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if token = page.NextPageToken; token == "" {
			return all, nil
		}
	}
}

// asked lets the owner answer some questions in the inbox: with text, with the draft of the
// answering agent, or with both at the same time.
func asked(ctx context.Context, st *conversation) error {
	st.questions = 1 + rand.IntN(4)
	if err := st.say(ctx, fmt.Sprintf("ask %d %s", st.questions, st.id)); err != nil {
		return err
	}
	for {
		all, err := st.w.items(ctx, "open", "question")
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].Task == st.id {
				if err := st.decide(ctx, &all[i], "answer", "approve"); err != nil {
					return err
				}
			}
		}
		if t, err := st.get(ctx); err != nil || t.ended() {
			return err
		}
		if err := pause(ctx, nil); err != nil {
			return fmt.Errorf("the questions wait: %w", err)
		}
	}
}

// purchase requests a purchase that the owner must approve, and decides as the owner.
func purchase(ctx context.Context, st *conversation) error {
	if err := st.say(ctx, "buy "+st.id); err != nil {
		return err
	}
	unapproved := func(t *taskJSON) bool { return t.state() == "AUTH_REQUIRED" }
	if t, err := st.await(ctx, unapproved); err != nil || t.ended() {
		return errors.Join(err, errors.New("the task does not wait for an approval"))
	}
	it, err := st.item(ctx)
	if err != nil {
		return err
	}
	if err := st.decide(ctx, it, "approve", "refuse"); err != nil {
		return err
	}
	_, err = st.await(ctx, never)
	return err
}

// item returns the approval of the conversation.
func (st *conversation) item(ctx context.Context) (*itemJSON, error) {
	all, err := st.w.items(ctx, "open", "approval")
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Task == st.id {
			return &all[i], nil
		}
	}
	return nil, errors.New("the approval is not in the inbox")
}

// decide applies one or the other decision to an item, or both at the same time.
func (st *conversation) decide(ctx context.Context, it *itemJSON, one, other string) error {
	verbs := [][]string{{one}, {one}, {other}, {one, other}}[rand.IntN(4)]
	errs, won := make([]error, len(verbs)), make([]bool, len(verbs))
	var all sync.WaitGroup
	for i, verb := range verbs {
		all.Go(func() { won[i], errs[i] = st.settle(ctx, it, verb) })
	}
	all.Wait()
	for i, verb := range verbs {
		if won[i] && st.won[it.ID] != "" {
			return fmt.Errorf("item %s was decided twice: %s, %s", it.ID, st.won[it.ID], verb)
		}
		if won[i] {
			st.won[it.ID] = verb
		}
	}
	return errors.Join(errs...)
}

// settle applies one decision, and reports whether the hub confirmed it as effective. The hub
// may have stored the decision and died before its answer.
func (st *conversation) settle(ctx context.Context, it *itemJSON, verb string) (bool, error) {
	r := hubtest.Request{URL: "/api/v1/inbox/" + it.ID + "/" + verb, Body: fmt.Sprintf(`{"text":"%s %s"}`, verb, st.id)}
	if verb == "approve" && it.Kind == "question" {
		r.Body = "{}" // sends the draft
	}
	err := st.w.near.call(ctx, me, r, nil)
	if hubtest.Status(err) == http.StatusConflict {
		return false, nil
	}
	return err == nil, err
}
