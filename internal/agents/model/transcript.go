package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// transcript is the history of a task, built from the records of its journal.
type transcript struct {
	items []item
	byKey map[string]*call
	// taken holds the keys of the caller's accepted messages.
	taken map[string]bool
	// since is the time of the last one; rounds and calls count from then.
	since time.Time
	// began is the time of the first one.
	began         time.Time
	rounds, calls int
	// answers counts the answers of the model to questions of agents since then.
	answers int
	usage   llm.Usage
}

// freshRounds is the number of answers to agents after each of which the rounds begin anew.
const freshRounds = 20

// item is a piece of the transcript: a turn, or the messages for one of the caller or for a
// notice.
type item struct {
	messages []llm.ChatMessage
	turn     *turn
	calls    []*call
	// arrived is set if the messages are a notice about dispatched work.
	arrived *arrived
}

// call is a tool call of the model.
type call struct {
	llm.ChatToolCall
	key      string
	intent   bool
	asked    *asked
	answered *answered
	// rounds counts the agent's questions.
	rounds int
	result *result
	// arrived is the notice about the call's dispatched work.
	arrived *arrived
	// loop is the span over the questions that the call answers one of; nil if it answers none.
	loop *loopSpan
}

// waits reports whether the call waits for the caller of the task.
func (c *call) waits() bool { return c.result == nil && c.asked != nil && c.answered == nil }

// apply adds a record.
func (t *transcript) apply(r *record) error {
	switch {
	case r.Said != nil:
		if t.taken == nil {
			t.taken = make(map[string]bool)
		}
		t.taken[r.Said.Key] = true
		t.since, t.rounds, t.calls, t.answers = r.Said.At, 0, 0, 0
		if t.began.IsZero() {
			t.began = r.Said.At
		}
		t.items = append(t.items, item{messages: r.Said.Messages})
	case r.Turn != nil:
		return t.applyTurn(r.Turn)
	case r.Intent != nil:
		return t.with(r.Intent.Key, t.intend)
	case r.Asked != nil:
		return t.with(r.Asked.Key, func(c *call) {
			c.asked, c.answered = r.Asked, nil
			c.rounds++
		})
	case r.Answered != nil:
		if t.taken == nil {
			t.taken = make(map[string]bool)
		}
		t.taken[r.Answered.By] = true
		return t.with(r.Answered.Key, func(c *call) { c.answered = r.Answered })
	case r.Result != nil:
		return t.with(r.Result.Key, func(c *call) { c.result = r.Result })
	case r.Arrived != nil:
		if err := t.with(r.Arrived.Key, func(c *call) { c.arrived = r.Arrived }); err != nil {
			return err
		}
		t.items = append(t.items, item{messages: []llm.ChatMessage{chatMessage("user", r.Arrived.Text)}, arrived: r.Arrived})
		return nil
	}
	return nil // a record of a later version
}

// intend records that a call is about to be made. For the answer to an agent the rounds begin
// anew, so that the limits of questions end a conversation with the agent, and not the rounds.
func (t *transcript) intend(c *call) {
	if !c.intent && c.continuedTask() != "" && t.answers < freshRounds {
		t.rounds, t.answers = 0, t.answers+1
	}
	c.intent = true
}

func (t *transcript) applyTurn(tn *turn) error {
	if len(tn.Keys) != len(tn.Message.ToolCalls) {
		return fmt.Errorf("a turn has %d calls and %d keys", len(tn.Message.ToolCalls), len(tn.Keys))
	}
	it := item{turn: tn}
	for i, key := range tn.Keys {
		c := &call{ChatToolCall: tn.Message.ToolCalls[i], key: key}
		it.calls = append(it.calls, c)
		if t.byKey == nil {
			t.byKey = make(map[string]*call)
		}
		t.byKey[key] = c
	}
	t.items = append(t.items, it)
	t.rounds++
	t.calls += len(it.calls)
	t.usage.Add(&tn.Usage)
	return nil
}

func (t *transcript) with(key string, change func(*call)) error {
	c := t.byKey[key]
	if c == nil {
		return fmt.Errorf("unknown call %q", key)
	}
	change(c)
	return nil
}

// last returns the last item if it is a turn; else nil.
func (t *transcript) last() *item {
	if n := len(t.items); n > 0 && t.items[n-1].turn != nil {
		return &t.items[n-1]
	}
	return nil
}

// open returns the calls of the last turn without a result, in their order.
func (t *transcript) open() []*call {
	it := t.last()
	if it == nil {
		return nil
	}
	var open []*call
	for _, c := range it.calls {
		if c.result == nil {
			open = append(open, c)
		}
	}
	return open
}

// waiting returns the first call that waits for the caller of the task, or nil.
func (t *transcript) waiting() *call {
	for _, c := range t.open() {
		if c.waits() {
			return c
		}
	}
	return nil
}

func (it *item) conversation() []llm.ChatMessage {
	if it.turn == nil {
		return it.messages
	}
	m := it.turn.Message
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		if f := &m.ToolCalls[i].Function; !json.Valid([]byte(f.Arguments)) {
			f.Arguments = "{}" // providers reject invalid JSON; the result reports it
		}
	}
	out := []llm.ChatMessage{m}
	for _, c := range it.calls {
		m := llm.ChatMessage{Role: "tool", ToolCallID: c.ID}
		if c.result != nil {
			m.Content = chatMessage(m.Role, c.result.Text).Content
		}
		out = append(out, m)
	}
	return out
}

// same reports whether two calls have the same tool and arguments.
func (c *call) same(d *call) bool {
	return c.Function.Name == d.Function.Name && strings.TrimSpace(c.Function.Arguments) == strings.TrimSpace(d.Function.Arguments)
}

// repeats counts the turns directly before the last one that have made a call like c with the
// same result, or a failed one.
func (t *transcript) repeats(c *call) (n int) {
	var text guard.Text
	for i := len(t.items) - 2; i >= 0 && t.items[i].turn != nil; i-- {
		at := slices.IndexFunc(t.items[i].calls, c.same)
		if at < 0 || t.items[i].calls[at].result == nil {
			break
		}
		r := t.items[i].calls[at].result
		if !r.Error && !text.IsEmpty() && r.Text != text {
			break
		}
		if !r.Error {
			text = r.Text
		}
		n++
	}
	return n
}

// alike counts the last consecutive turns that make only the same calls, with no new results.
func (t *transcript) alike() (n int) {
	next := t.last()
	if next == nil || len(next.calls) == 0 {
		return 0
	}
	n = 1
	for i := len(t.items) - 2; i >= 0 && t.items[i].teachesLess(next); i-- {
		next = &t.items[i]
		n++
	}
	return n
}

// teachesLess reports whether a turn has made the same calls as the next one, whose results
// were not new.
func (it *item) teachesLess(next *item) bool {
	if len(it.calls) != len(next.calls) {
		return false
	}
	for i, c := range it.calls {
		d := next.calls[i]
		if !c.same(d) || c.result == nil || d.result == nil || c.result.Text != d.result.Text && !d.result.Error {
			return false
		}
	}
	return true
}
