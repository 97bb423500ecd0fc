package openaitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Request is a request for a completion.
type Request struct {
	// Model, Messages, Tools and Stream are the members of the request.
	Model    string
	Messages []Message
	Tools    []Tool
	Stream   bool
	// Usage is set if the client wants the token usage at the end of the stream.
	Usage bool
	// Body is the unchanged body of the request.
	Body []byte
	// Attempt is the number of earlier requests with the same body.
	Attempt int
}

// Message is one message of a conversation.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content,omitempty"`
	Name       string          `json:"name,omitempty"`
	ToolCalls  []ToolCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

// ToolCall is a call in a turn of the assistant.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is the name of the called tool with its arguments.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is a tool that the model may call.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Text returns the text of a message, joined from all its parts.
func (m *Message) Text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []part
	_ = json.Unmarshal(m.Content, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Last returns the text of the last message of a role; empty if there is none.
func (r *Request) Last(role string) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == role {
			return r.Messages[i].Text()
		}
	}
	return ""
}

// Round returns the number of turns of the assistant after the last message of the user.
func (r *Request) Round() int {
	n := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "user"; i-- {
		if r.Messages[i].Role == "assistant" {
			n++
		}
	}
	return n
}

// Results returns the contents of the tool messages that answer the calls of a tool, in order.
func (r *Request) Results(tool string) []string {
	names := make(map[string]string)
	var out []string
	for i := range r.Messages {
		m := &r.Messages[i]
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
		if m.Role == "tool" && names[m.ToolCallID] == tool {
			out = append(out, m.Text())
		}
	}
	return out
}

// Has reports whether the model may call a tool.
func (r *Request) Has(tool string) bool {
	for i := range r.Tools {
		if r.Tools[i].Function.Name == tool {
			return true
		}
	}
	return false
}

// known are the members of a request that providers accept.
var known = strings.Fields(`model messages tools tool_choice parallel_tool_calls stream stream_options
	temperature top_p max_tokens max_completion_tokens stop n seed user response_format
	presence_penalty frequency_penalty logit_bias logprobs top_logprobs metadata store
	reasoning_effort modalities audio prediction service_tier verbosity prompt_cache_key safety_identifier`)

// parse decodes a request; the error names the invalid member.
func parse(body []byte) (*Request, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	for name := range members {
		if !contains(known, name) {
			return nil, fmt.Errorf("%s: there is no such argument", name)
		}
	}
	var wire struct {
		Model    string
		Messages []Message
		Tools    []Tool
		Stream   bool
		Options  *struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return nil, err
	}
	r := &Request{Model: wire.Model, Messages: wire.Messages, Tools: wire.Tools, Stream: wire.Stream, Body: bytes.Clone(body)}
	if wire.Options != nil {
		r.Usage = wire.Options.IncludeUsage
		if !wire.Stream {
			return r, fmt.Errorf("stream_options: only for streams")
		}
	}
	_, tools := members["tools"]
	for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
		if _, ok := members[name]; ok && !tools {
			return r, fmt.Errorf("%s: only with tools", name)
		}
	}
	if tools && len(wire.Tools) == 0 {
		return r, fmt.Errorf("tools: [] is too short")
	}
	return r, r.Check()
}

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}
