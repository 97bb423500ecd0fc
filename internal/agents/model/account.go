package model

import (
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/llm"
)

// The extension by which agents say what a task has cost, and the media type of its data.
const (
	costExtension = "https://proto-labs.ai/a2a/ext/cost-v1"
	costType      = "application/vnd.protolabs.cost-v1+json"
)

// Extensions returns the extensions of the protocol that model agents have for callers who
// activate them.
func Extensions() []a2a.AgentExtension {
	return []a2a.AgentExtension{
		{URI: costExtension, Description: "What a task has cost, as a data part of its last message."},
		{URI: toolCallExtension, Description: "Calls of tools, as data parts while they are made."},
	}
}

// account says in the last message of a task what the task has cost: in its metadata, where
// the hub finds it, and in a part for callers that have activated the extension.
func (s *session) account(m *a2a.Message) {
	if s.t == nil || s.t.usage == (llm.Usage{}) {
		return
	}
	u := &s.t.usage
	cost := map[string]any{
		"usage": map[string]any{
			"input_tokens": u.Input - u.Cached, "output_tokens": u.Output, "cache_read_input_tokens": u.Cached,
		},
		"durationMs": time.Since(s.t.began).Milliseconds(),
	}
	m.Metadata = map[string]any{costType: cost}
	if s.call == nil || !slices.Contains(s.call.Extensions, costExtension) {
		return
	}
	p := a2a.NewDataPart(cost)
	p.MediaType = "application/json"
	p.Metadata = map[string]any{"mimeType": costType}
	m.Parts = append(m.Parts, p)
}
