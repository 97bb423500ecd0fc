package inbox

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// ID identifies an item. It has no meaning beyond that.
type ID string

// maxID is the longest id in bytes.
const maxID = 128

// IDOf returns the id of the item that belongs to a version of a task: always the same,
// and another one for each. Tasks of two owners may have one id, so the owner counts.
func IDOf(owner task.Owner, id a2a.TaskID, version int64) ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "parley inbox %q %q %d", owner, id, version))
	return ID(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

// Kind says what an item wants.
type Kind string

// The kinds of items.
const (
	// Question is an agent's; an answer settles it.
	Question Kind = "question"
	// Approval is for somebody's request, which runs once it is approved.
	Approval Kind = "approval"
	// Notice tells something. It wants nothing, and expires.
	Notice Kind = "notice"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Question, Approval, Notice} }

// State says how far an item is.
type State string

// The states of an item. It begins as Open; all others are final.
const (
	Open     State = "open"
	Answered State = "answered"
	Approved State = "approved"
	Refused  State = "refused"
	// Expired items were settled by nobody in time, or are not needed any more.
	Expired State = "expired"
)

// States returns all states.
func States() []State { return []State{Open, Answered, Approved, Refused, Expired} }

// Limits of what an item holds, in bytes. What is longer is cut by Inbox.Put and refused
// by Inbox.Answer.
const (
	MaxText   = 64 << 10
	MaxDraft  = 64 << 10
	MaxAnswer = 64 << 10
	maxName   = 1 << 10
)

// Item is one thing to look at.
type Item struct {
	// ID is required. See IDOf.
	ID ID `json:"id"`
	// Kind is required.
	Kind Kind `json:"kind"`
	// Owner is the scope of Task; Version is that of the task where the item belongs.
	Owner   task.Owner `json:"owner"`
	Task    a2a.TaskID `json:"task,omitempty"`
	Version int64      `json:"version,omitempty"`
	// Agent is the agent that the item is about.
	Agent task.Agent `json:"agent,omitempty"`
	// Caller is the id of the principal who called the agent; CallerName is for people.
	Caller     string `json:"caller,omitempty"`
	CallerName string `json:"callerName,omitempty"`
	// Skill is the skill that was asked for, or empty.
	Skill string `json:"skill,omitempty"`
	// Text is what there is to read.
	Text string `json:"text"`
	// Draft is an answer that somebody proposes to a question, or empty.
	Draft string `json:"draft,omitempty"`
	// Created is when the item was put; Expires is when its time is over, zero means
	// never. They have milliseconds.
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	// State begins as Open.
	State State `json:"state"`
	// Answer is the answer, or what was said with an approval or a refusal.
	Answer string `json:"answer,omitempty"`
	// By is who settled the item, and Settled when. An item that expired has nobody.
	By      string    `json:"by,omitempty"`
	Settled time.Time `json:"settled,omitzero"`
}

// overdue reports whether the time of an item is over.
func (it *Item) overdue(now time.Time) bool {
	return !it.Expires.IsZero() && !now.Before(it.Expires)
}

// Settlement is how an item is settled.
type Settlement struct {
	// State is Answered, Approved, Refused or Expired.
	State State
	// Answer, By and At are for Item.Answer, Item.By and Item.Settled.
	Answer string
	By     string
	At     time.Time
}

// Check reports what is wrong with a settlement: an error that wraps ErrInvalid.
func (s *Settlement) Check() error {
	switch s.State {
	case Answered, Approved, Refused, Expired:
		return nil
	}
	return fmt.Errorf("%w: no item can be settled as %q", ErrInvalid, s.State)
}

// Settles returns the item as s settles it: an error if it is settled, or if s comes
// too late. Books call it where nothing can come between it and the change.
func (it *Item) Settles(s *Settlement) (Item, error) {
	next := *it
	if it.State != Open {
		return next, &Settled{Item: next}
	}
	if s.State != Expired && it.overdue(s.At) {
		return next, ErrLate
	}
	next.State, next.Answer, next.By, next.Settled = s.State, s.Answer, s.By, millis(s.At)
	return next, nil
}

// Check reports what is wrong with an item that is new: an error that wraps ErrInvalid.
func (it *Item) Check() error {
	switch {
	case it.ID == "" || len(it.ID) > maxID:
		return fmt.Errorf("%w: an item needs an id of at most %d bytes", ErrInvalid, maxID)
	case it.Kind != Question && it.Kind != Approval && it.Kind != Notice:
		return fmt.Errorf("%w: there is no kind %q", ErrInvalid, it.Kind)
	case it.State != Open:
		return fmt.Errorf("%w: a new item is open", ErrInvalid)
	}
	return nil
}

// millis is what a book keeps of a time.
func millis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// fit cuts what is too long, and makes times what a book keeps of them.
func (it *Item) fit() {
	it.Text, it.Draft = clip(it.Text, MaxText), clip(it.Draft, MaxDraft)
	it.Caller, it.CallerName, it.Skill = clip(it.Caller, maxName), clip(it.CallerName, maxName), clip(it.Skill, maxName)
	it.Created, it.Expires = millis(it.Created), millis(it.Expires)
}

// clip returns at most n bytes of s, whole runes, with a mark where it was cut.
func clip(s string, n int) string {
	const mark = "…"
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}
