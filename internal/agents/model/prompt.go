package model

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/llm"
)

// instructions returns the first message of every request.
func (a *Agent) instructions(s *session) string {
	parts := []string{a.SystemPrompt}
	if s.frame != "" {
		parts = append(parts, s.frame)
	}
	if len(s.tools.list) > 0 || s.frame != "" {
		parts = append(parts, guard.Notice)
	}
	var said []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "\n\n")
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
// agents is labelled.
func (s *session) turnMessage(t *memory.Turn) llm.ChatMessage {
	switch {
	case t.Role == memory.RoleCaller, t.Role == memory.RoleHub:
		return llm.ChatMessage{Role: "user", Content: llm.ChatText(t.Text)}
	case t.Name == string(s.name()):
		return llm.ChatMessage{Role: "assistant", Content: llm.ChatText(t.Text)}
	}
	q := s.agent.guard().Quote(guard.Agent(t.Name), t.Text)
	return llm.ChatMessage{Role: "user", Content: llm.ChatText("[Another agent answered:]\n" + q.Text)}
}

// remember stores the notice of the end of a call in the conversation.
func (s *session) remember(ctx context.Context, a *arrived) error {
	if s.agent.History == nil {
		return nil
	}
	err := s.agent.History.Append(ctx, memory.SessionOf(auth.PrincipalFrom(ctx).Owner(), s.ec.ContextID, string(s.ec.TaskID)), memory.Turn{
		ID: string(s.ec.TaskID) + "/" + a.Key, Role: memory.RoleHub, Name: string(s.name()), Text: a.Text, At: time.Now(),
	})
	if err != nil {
		return fmt.Errorf("keep a notice in the conversation: %w", err)
	}
	return nil
}
