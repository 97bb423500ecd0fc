package model

import (
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm"
)

// The extension for reporting the cost of a task, and the media type of its data.
const (
	costExtension = "https://proto-labs.ai/a2a/ext/cost-v1"
	costType      = "application/vnd.protolabs.cost-v1+json"
)

// Extensions returns the protocol extensions that model agents support for callers who activate
// them.
func Extensions() []a2a.AgentExtension {
	return []a2a.AgentExtension{
		{URI: costExtension, Description: "The cost of a task, as a data part of its last message."},
		{URI: toolCallExtension, Description: "Calls of tools, as data parts while they are made."},
	}
}

// account adds the cost of a task to its last message: as metadata for the hub, and as a part
// for callers that have activated the extension.
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
