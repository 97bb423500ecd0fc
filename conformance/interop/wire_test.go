package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// client is an SDK's client, connected to a hub by one binding. What goes in and
// comes out is v1.0 JSON as the SDK reads and writes it.
type client interface {
	// do makes a call that has one answer. Its error is a *refusal if the hub said no.
	do(ctx context.Context, c call) (json.RawMessage, error)
	// stream makes a call that has many.
	stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error]
}

// call is one call of an agent.
type call struct {
	Op    string `json:"op"`
	Agent string `json:"agent"`
	// Params is the request of the protocol.
	Params any `json:"params"`
	// Version is the protocol version to name; if empty, the SDK's own.
	Version string `json:"version,omitempty"`
}

// refusal is an error of the protocol, as the SDK understood it.
type refusal struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %s", r.Reason, r.Message) }

// obj is a JSON object of a request.
type obj map[string]any

// The parts of the protocol that scenarios look at.
type (
	task struct {
		ID        string
		ContextID string
		Status    status
		Artifacts []artifact
		History   []message
	}
	status struct {
		State   string
		Message *message
	}
	artifact struct {
		ArtifactID string
		Name       string
		Parts      []part
	}
	message struct {
		MessageID string
		ContextID string
		TaskID    string
		Role      string
		Parts     []part
	}
	part struct {
		Text      *string
		Raw       []byte
		Data      any
		MediaType string
		Filename  string
	}
	event struct {
		Task           *task
		Message        *message
		StatusUpdate   *statusUpdate
		ArtifactUpdate *artifactUpdate
	}
	statusUpdate struct {
		TaskID    string
		ContextID string
		Status    status
	}
	artifactUpdate struct {
		TaskID    string
		Artifact  artifact
		Append    bool
		LastChunk bool
	}
	page struct {
		Tasks         []task
		NextPageToken string
		PageSize      int
		TotalSize     int
	}
)

// text returns the texts of parts, joined.
func text(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}
