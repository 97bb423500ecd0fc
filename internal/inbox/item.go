package inbox

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	textclip "github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/task"
)

// ID identifies an item. It is opaque.
type ID string

// maxID is the maximum length of an id, in bytes.
const maxID = 128

// IDOf returns the id of the item for a version of a task. Equal arguments give equal ids,
// different arguments different ones. The owner is included because tasks of two owners may
// have the same id.
func IDOf(owner task.Owner, id a2a.TaskID, version int64) ID {
	sum := sha256.Sum256(fmt.Appendf(nil, "parley inbox %q %q %d", owner, id, version))
	return ID(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

// Kind is the kind of an item.
type Kind string

// Kinds of items.
const (
	// Question is a question of an agent; an answer settles it.
	Question Kind = "question"
	// Approval is a request that runs only after it is approved.
	Approval Kind = "approval"
	// Notice is an information. It needs no answer, and expires.
	Notice Kind = "notice"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Question, Approval, Notice} }

// State is the state of an item.
type State string

// States of an item. A new item is Open; all other states are final.
const (
	Open     State = "open"
	Answered State = "answered"
	Approved State = "approved"
	Refused  State = "refused"
	// Expired items were not settled in time, or are not needed any more.
	Expired State = "expired"
)

// States returns all states.
func States() []State { return []State{Open, Answered, Approved, Refused, Expired} }

// Limits of an item, in bytes. Inbox.Put cuts longer texts; Inbox.Answer rejects longer
// answers.
const (
	MaxText   = 64 << 10
	MaxDraft  = 64 << 10
	MaxAnswer = 64 << 10
	maxName   = 1 << 10
)

// Item is a question, approval or notice for a person.
type Item struct {
	// ID is required. See IDOf.
	ID ID `json:"id"`
	// Kind is required.
	Kind Kind `json:"kind"`
	// Owner is the owner of Task; Version is the version of the task at which the item was
	// created.
	Owner   task.Owner `json:"owner"`
	Task    a2a.TaskID `json:"task,omitempty"`
	Version int64      `json:"version,omitempty"`
	// Agent is the agent to which the item refers.
	Agent task.Agent `json:"agent,omitempty"`
	// Caller is the id of the principal that called the agent; CallerName is its display name.
	Caller     string `json:"caller,omitempty"`
	CallerName string `json:"callerName,omitempty"`
	// Skill is the requested skill; it may be empty.
	Skill string `json:"skill,omitempty"`
	// Text is the text for the person.
	Text string `json:"text"`
	// Draft is a proposed answer to a question; it may be empty.
	Draft string `json:"draft,omitempty"`
	// Created is the time at which the item was put; Expires is the time at which it expires,
	// zero means never. Both have a precision of milliseconds.
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	// State is the state of the item; a new item is Open.
	State State `json:"state"`
	// Answer is the answer, or the remark on an approval, refusal or expiry.
	Answer string `json:"answer,omitempty"`
	// By is the user that settled the item, and Settled the time. By is empty for an expired
	// item.
	By      string    `json:"by,omitempty"`
	Settled time.Time `json:"settled,omitzero"`
}

func (it *Item) overdue(now time.Time) bool {
	return !it.Expires.IsZero() && !now.Before(it.Expires)
}

// Settlement is the final decision on an item.
type Settlement struct {
	// State is Answered, Approved, Refused or Expired.
	State State
	// Answer, By and At become Item.Answer, Item.By and Item.Settled.
	Answer string
	By     string
	At     time.Time
}

// Check returns an error that wraps ErrInvalid if the settlement is invalid.
func (s *Settlement) Check() error {
	switch s.State {
	case Answered, Approved, Refused, Expired:
		return nil
	}
	return fmt.Errorf("%w: invalid decision %q", ErrInvalid, s.State)
}

// Settles returns the item with s applied. It returns a *Settled if the item is settled, and
// ErrLate if s is too late. A Store must call it atomically with the change.
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

// Check returns an error that wraps ErrInvalid if a new item is invalid.
func (it *Item) Check() error {
	switch {
	case it.ID == "" || len(it.ID) > maxID:
		return fmt.Errorf("%w: an item needs an id of at most %d bytes", ErrInvalid, maxID)
	case it.Kind != Question && it.Kind != Approval && it.Kind != Notice:
		return fmt.Errorf("%w: unknown kind %q", ErrInvalid, it.Kind)
	case it.State != Open:
		return fmt.Errorf("%w: a new item is open", ErrInvalid)
	}
	return nil
}

// millis returns the precision of a time that a store keeps.
func millis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// clip returns at most n bytes of s, in whole runes, with a mark at the cut.
func clip(s string, n int) string {
	return textclip.FitBytes(strings.ToValidUTF8(s, "\uFFFD"), n)
}
