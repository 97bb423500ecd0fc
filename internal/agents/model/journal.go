package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/llm"
)

// record is a record of the journal: one of its fields is set.
type record struct {
	Said     *said     `json:"said,omitempty"`
	Turn     *turn     `json:"turn,omitempty"`
	Intent   *intent   `json:"intent,omitempty"`
	Asked    *asked    `json:"asked,omitempty"`
	Answered *answered `json:"answered,omitempty"`
	Result   *result   `json:"result,omitempty"`
	Arrived  *arrived  `json:"arrived,omitempty"`
}

// said is that a message of the caller was taken, with the conversation before it.
type said struct {
	// Key is that of the agent.Call.
	Key      string            `json:"key"`
	At       time.Time         `json:"at"`
	Messages []llm.ChatMessage `json:"messages"`
}

// turn is a finished message of the model.
type turn struct {
	Message llm.ChatMessage `json:"message"`
	// Parts are what it answers with beside text.
	Parts a2a.ContentParts `json:"parts,omitempty"`
	// Keys are those of its calls, in their order. No other call of the task has them:
	// models use the ids of calls again.
	Keys   []string  `json:"keys,omitempty"`
	Usage  llm.Usage `json:"usage"`
	Choice string    `json:"choice,omitempty"`
	Finish string    `json:"finish,omitempty"`
}

// intent is that a call is about to be made.
type intent struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// asked is that an agent asks back, to which a call went.
type asked struct {
	Key  string     `json:"key"`
	Task a2a.TaskID `json:"task"`
	// Auth says that it wants to be authorized.
	Auth bool `json:"auth,omitempty"`
	// Question is what it asks, in its own words.
	Question string `json:"question"`
}

// answered is that the caller has answered that question.
type answered struct {
	Key string `json:"key"`
	// By is the key of the agent.Call with the message that answers.
	By    string           `json:"by"`
	Parts a2a.ContentParts `json:"parts"`
}

// result is what has come of a call.
type result struct {
	Key string `json:"key"`
	// Text is what the model reads, Error says that the call came to nothing.
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
	// Pending is what the call has dispatched, and what is still awaited.
	Pending *pending `json:"pending,omitempty"`
	// Open is a question that the call has come to, if a person decides about it.
	Open *open `json:"open,omitempty"`
}

// load reads the journal.
func load(ctx context.Context) (*transcript, error) {
	t := new(transcript)
	for b, err := range agent.Journal(ctx) {
		var r record
		if err == nil {
			err = json.Unmarshal(b, &r)
		}
		if err == nil {
			err = t.apply(&r)
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
	}
	return t, nil
}

// note adds a record to the journal and to the transcript.
func (s *session) note(ctx context.Context, r *record) error {
	b, err := json.Marshal(r)
	if err == nil {
		err = agent.Record(ctx, b)
	}
	if err == nil {
		err = s.t.apply(r)
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}
