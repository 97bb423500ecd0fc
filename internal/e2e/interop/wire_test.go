package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// client is an SDK's client, connected to a hub by one binding. Requests and results are v1.0
// JSON as the SDK decodes and encodes it.
type client interface {
	// do makes a call that has one answer. It returns a *refusal if the hub refused.
	do(ctx context.Context, c call) (json.RawMessage, error)
	// stream makes a call that has many answers.
	stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error]
}

// call is one call of an agent.
type call struct {
	Op    string `json:"op"`
	Agent string `json:"agent"`
	// Params is the request of the protocol.
	Params any `json:"params"`
	// Version is the protocol version to send; if empty, the SDK's own.
	Version string `json:"version,omitempty"`
}

// refusal is an error of the protocol, as decoded by the SDK.
type refusal struct {
	// Reason is the protocol's name of the error. If a process omits it, it is derived from
	// Code.
	Reason string `json:"reason"`
	Code   int    `json:"code"`
	// Status is the status of HTTP ("404") or gRPC ("NOT_FOUND"), for SDKs that report only
	// this.
	Status  string `json:"status"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("refused (reason %q, code %d, status %q): %s", r.Reason, r.Code, r.Status, r.Message)
}

// is reports whether r is the error of the protocol with this reason, as far as the SDK can
// distinguish it. An error with a status alone matches every reason with this status.
func (r *refusal) is(reason string) bool {
	if r.Reason == "" && r.Code == 0 {
		return slices.Contains(statuses[reason], r.Status)
	}
	return r.Reason == reason
}

// statuses are the v0.3 statuses of a reason.
var statuses = map[string][]string{
	"INVALID_PARAMS":        {"400", "INVALID_ARGUMENT"},
	"TASK_NOT_FOUND":        {"404", "NOT_FOUND"},
	"TASK_NOT_CANCELABLE":   {"400", "409", "FAILED_PRECONDITION"},
	"UNSUPPORTED_OPERATION": {"400", "FAILED_PRECONDITION", "UNIMPLEMENTED"},
}

// obj is a JSON object of a request.
type obj map[string]any

// The parts of the protocol that scenarios check.
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
