package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/memory"
)

// chatMessage returns a message to the model. Messages of the hub are made here alone: a guard.Text states
// whose words it has.
func chatMessage(role string, text guard.Text) llm.ChatMessage {
	return llm.ChatMessage{Role: role, Content: llm.ChatText(text.String())}
}

// labelled reports whether a message of the caller has a label.
func (t *transcript) labelled() bool {
	return slices.ContainsFunc(t.items, func(it item) bool {
		return slices.ContainsFunc(it.messages, func(m llm.ChatMessage) bool { return guard.HasLabel(m.Content.Text()) })
	})
}

// before returns the conversation before the task.
func (s *session) before(ctx context.Context) ([]llm.ChatMessage, error) {
	if s.agent.History == nil {
		return nil, nil
	}
	turns, err := s.agent.History.Continue(ctx, auth.PrincipalFrom(ctx).Owner(), s.ec.ContextID)
	if err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	mine := string(s.ec.TaskID) + "/"
	var msgs []llm.ChatMessage
	for i := range turns {
		t := &turns[i]
		if strings.HasPrefix(t.ID, mine) || t.Role == memory.RoleHub && t.Name != string(s.name()) {
			continue
		}
		msgs = append(msgs, s.turnMessage(t))
	}
	return msgs, nil
}

// turnMessage returns a turn of the conversation in the form for the model. Text of other
// agents is labelled, and so are messages of the caller and of the model in which the screen finds
// an order: they may repeat words of others.
func (s *session) turnMessage(t *memory.Turn) llm.ChatMessage {
	g := s.agent.guard()
	switch {
	case t.Role == memory.RoleCaller:
		return chatMessage("user", g.Own(guard.Caller, t.Text))
	case t.Role == memory.RoleHub:
		return chatMessage("user", g.Checked("", t.Text))
	case t.Name == string(s.name()):
		return chatMessage("assistant", g.Own(guard.Agent(t.Name), t.Text))
	}
	return chatMessage("user", guard.Words("[Another agent answered:]\n%s", g.Text(guard.Agent(t.Name), t.Text)))
}

// remember stores the notice of the end of a call in the conversation.
func (s *session) remember(ctx context.Context, a *arrived) error {
	if s.agent.History == nil {
		return nil
	}
	err := s.agent.History.Append(ctx, memory.SessionOf(auth.PrincipalFrom(ctx).Owner(), s.ec.ContextID, string(s.ec.TaskID)), memory.Turn{
		ID: string(s.ec.TaskID) + "/" + a.Key, Role: memory.RoleHub, Name: string(s.name()), Text: a.Text.String(), At: time.Now(),
	})
	if err != nil {
		return fmt.Errorf("keep a notice in the conversation: %w", err)
	}
	return nil
}
