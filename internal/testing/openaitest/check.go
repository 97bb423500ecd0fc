package openaitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Check returns an error for a request that a strict provider refuses: calls without results or
// with two, results without calls, roles with unsuitable contents, and invalid names and
// schemas of tools.
func (r *Request) Check() error {
	if r.Model == "" {
		return fmt.Errorf("model: you must provide a model")
	}
	if len(r.Messages) == 0 {
		return fmt.Errorf("messages: [] is too short")
	}
	if err := checkTools(r.Tools); err != nil {
		return err
	}
	h := history{given: make(map[string]bool)}
	for i := range r.Messages {
		if err := h.next(&r.Messages[i]); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(h.open) > 0 {
		return fmt.Errorf("messages: the calls %s have no results", strings.Join(h.open, ", "))
	}
	if last := r.Messages[len(r.Messages)-1].Role; last == "assistant" {
		return fmt.Errorf("messages: the last is one of the assistant: there is nothing to say")
	}
	return nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkTools(tools []Tool) error {
	seen := make(map[string]bool)
	for i := range tools {
		f := &tools[i].Function
		switch {
		case tools[i].Type != "function":
			return fmt.Errorf("tools[%d].type: %q, want function", i, tools[i].Type)
		case !toolName.MatchString(f.Name):
			return fmt.Errorf("tools[%d].function.name: %q does not match %s", i, f.Name, toolName)
		case seen[f.Name]:
			return fmt.Errorf("tools[%d].function.name: there is another %q", i, f.Name)
		}
		seen[f.Name] = true
		var schema struct{ Type any }
		if len(f.Parameters) == 0 {
			continue
		}
		if err := json.Unmarshal(f.Parameters, &schema); err != nil || schema.Type != "object" {
			return fmt.Errorf("tools[%d].function.parameters: a schema must have the type object: %s", i, f.Parameters)
		}
	}
	return nil
}

// history is the state of the check after the messages read so far.
type history struct {
	open  []string // calls without results
	given map[string]bool
	began bool // set after the first message of a role other than system
}

func (h *history) next(m *Message) error {
	if m.Role != "tool" && len(h.open) > 0 {
		return fmt.Errorf("the calls %s have no results before this message of role %q", strings.Join(h.open, ", "), m.Role)
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 {
		return fmt.Errorf("tool_calls: only the assistant calls tools, not %q", m.Role)
	}
	if m.Role != "tool" && m.ToolCallID != "" {
		return fmt.Errorf("tool_call_id: only in results, not for %q", m.Role)
	}
	switch m.Role {
	case "system", "developer":
		if h.began {
			return fmt.Errorf("role: %q must come first", m.Role)
		}
		return checkContent(m.Content, "text")
	case "user":
		h.began = true
		return checkContent(m.Content, "text", "image_url", "input_audio", "file")
	case "assistant":
		h.began = true
		return h.assistant(m)
	case "tool":
		return h.result(m)
	}
	return fmt.Errorf("role: there is no %q", m.Role)
}

func (h *history) assistant(m *Message) error {
	if len(m.ToolCalls) == 0 {
		return checkContent(m.Content, "text", "refusal")
	}
	if len(m.Content) > 0 && string(m.Content) != "null" && string(m.Content) != `""` {
		if err := checkContent(m.Content, "text", "refusal"); err != nil {
			return err
		}
	}
	for i, c := range m.ToolCalls {
		var arguments map[string]any
		switch {
		case c.ID == "":
			return fmt.Errorf("tool_calls[%d].id: missing", i)
		case h.given[c.ID]:
			return fmt.Errorf("tool_calls[%d].id: there is another %q", i, c.ID)
		case c.Type != "function":
			return fmt.Errorf("tool_calls[%d].type: %q, want function", i, c.Type)
		case !toolName.MatchString(c.Function.Name):
			return fmt.Errorf("tool_calls[%d].function.name: %q does not match %s", i, c.Function.Name, toolName)
		case json.Unmarshal([]byte(c.Function.Arguments), &arguments) != nil:
			return fmt.Errorf("tool_calls[%d].function.arguments: %q is not a JSON object", i, c.Function.Arguments)
		}
		h.given[c.ID] = true
		h.open = append(h.open, c.ID)
	}
	return nil
}

func (h *history) result(m *Message) error {
	i := slices.Index(h.open, m.ToolCallID)
	if i < 0 {
		if h.given[m.ToolCallID] {
			return fmt.Errorf("tool_call_id: %q has a result already, or its turn is over", m.ToolCallID)
		}
		return fmt.Errorf("tool_call_id: no call of the turn before has the id %q", m.ToolCallID)
	}
	h.open = slices.Delete(h.open, i, i+1)
	return checkContent(m.Content, "text")
}

// part is one part of a message's content.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// checkContent returns an error for a content that is not text or parts of the given types.
func checkContent(raw json.RawMessage, types ...string) error {
	if len(raw) == 0 || string(raw) == "null" {
		return fmt.Errorf("content: missing")
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return nil
	}
	var parts []part
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("content: neither a string nor a list of parts: %.80s", raw)
	}
	if len(parts) == 0 {
		return fmt.Errorf("content: [] is too short")
	}
	for i, p := range parts {
		if !slices.Contains(types, p.Type) {
			return fmt.Errorf("content[%d].type: %q, want one of %s", i, p.Type, strings.Join(types, ", "))
		}
		if p.Type == "image_url" && (p.Image == nil || !strings.Contains(p.Image.URL, ":")) {
			return fmt.Errorf("content[%d].image_url.url: missing", i)
		}
	}
	return nil
}
