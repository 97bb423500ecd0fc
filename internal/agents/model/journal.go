package model

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// record is a record of the journal. Exactly one field is set.
type record struct {
	Said     *statusAndText `json:"said,omitempty"`
	Turn     *turn          `json:"turn,omitempty"`
	Intent   *intent        `json:"intent,omitempty"`
	Asked    *asked         `json:"asked,omitempty"`
	Answered *answered      `json:"answered,omitempty"`
	Result   *result        `json:"result,omitempty"`
	Arrived  *arrived       `json:"arrived,omitempty"`
}

// statusAndText records an accepted message of the caller, with the conversation before it.
type statusAndText struct {
	// Key is the key of the agent.Call.
	Key      string            `json:"key"`
	At       time.Time         `json:"at"`
	Messages []llm.ChatMessage `json:"messages"`
}

// turn is a complete message of the model.
type turn struct {
	Message llm.ChatMessage `json:"message"`
	// Parts are the parts of its answer other than text.
	Parts a2a.ContentParts `json:"parts,omitempty"`
	// Keys are the keys of its calls, in their order. They are unique within the task, while
	// models reuse the ids of calls.
	Keys   []string  `json:"keys,omitempty"`
	Usage  llm.Usage `json:"usage"`
	Choice string    `json:"choice,omitempty"`
	Finish string    `json:"finish,omitempty"`
}

// intent records that a call is about to be made.
type intent struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// asked records a question of the agent that a call has reached.
type asked struct {
	Key  string     `json:"key"`
	Task a2a.TaskID `json:"task"`
	// Auth is set if the agent asks for an authorization.
	Auth bool `json:"auth,omitempty"`
	// Question is the question in the agent's words.
	Question string `json:"question"`
}

// answered records the caller's answer to that question.
type answered struct {
	Key string `json:"key"`
	// By is the key of the agent.Call with the answer.
	By    string           `json:"by"`
	Parts a2a.ContentParts `json:"parts"`
}

// result records the result of a call.
type result struct {
	Key string `json:"key"`
	// Text is the result for the model. Error is set if the call failed.
	Text  guard.Text `json:"text"`
	Error bool       `json:"error,omitempty"`
	// Pending is the dispatched work of the call that is still awaited.
	Pending *pending `json:"pending,omitempty"`
	// Open is a question in the result that a person must decide about.
	Open *open `json:"open,omitempty"`
}

func load(ctx context.Context) (*transcript, error) {
	t := new(transcript)
	for b, err := range agent.CallFrom(ctx).Journal(ctx) {
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
		err = agent.CallFrom(ctx).Record(ctx, b)
	}
	if err == nil {
		err = s.t.apply(r)
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}
