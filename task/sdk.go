package task

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/rawjson"
)

// A2A returns the task as the SDK's struct, with whole history and all artifacts,
// for executors. The head must be that at the version of f. The struct shows less
// than the task has: unknown fields are dropped, and numbers in data and metadata
// become float64.
func (f *Fold) A2A(h *Head) (*a2a.Task, error) {
	type plain a2a.Task
	var t struct {
		plain
		Artifacts []*sdkArtifact `json:"artifacts"`
		History   []*sdkMessage  `json:"history"`
		Status    struct {
			a2a.TaskStatus
			Message *sdkMessage `json:"message"`
		} `json:"status"`
	}
	if err := json.Unmarshal(f.AppendTask(nil, h, TaskOptions{Artifacts: true}), &t); err != nil {
		return nil, fmt.Errorf("decode task %s: %w", h.ID, err)
	}
	for _, a := range t.Artifacts {
		t.plain.Artifacts = append(t.plain.Artifacts, a.artifact())
	}
	for _, m := range t.History {
		t.plain.History = append(t.plain.History, m.message())
	}
	t.plain.Status = t.Status.TaskStatus
	t.plain.Status.Message = t.Status.Message.message()
	return (*a2a.Task)(&t.plain), nil
}

// DecodeMessage returns a message as the SDK's struct. Unlike the SDK it knows a
// part whose data is null.
func DecodeMessage(body []byte) (*a2a.Message, error) {
	var m sdkMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	return m.message(), nil
}

type plainMessage a2a.Message

type sdkMessage struct {
	plainMessage
	Parts sdkParts `json:"parts"`
}

func (m *sdkMessage) message() *a2a.Message {
	if m == nil {
		return nil
	}
	m.plainMessage.Parts = m.Parts.parts()
	return (*a2a.Message)(&m.plainMessage)
}

type plainArtifact a2a.Artifact

type sdkArtifact struct {
	plainArtifact
	Parts sdkParts `json:"parts"`
}

func (a *sdkArtifact) artifact() *a2a.Artifact {
	a.plainArtifact.Parts = a.Parts.parts()
	return (*a2a.Artifact)(&a.plainArtifact)
}

type sdkParts []*sdkPart

func (s sdkParts) parts() a2a.ContentParts {
	if s == nil {
		return nil
	}
	ps := make(a2a.ContentParts, len(s))
	for i, p := range s {
		ps[i] = (*a2a.Part)(p)
	}
	return ps
}

type sdkPart a2a.Part

// UnmarshalJSON reads a part. The SDK takes data that is null for absent, although
// it is a value like any other.
func (p *sdkPart) UnmarshalJSON(b []byte) error {
	null := false
	for name, value := range rawjson.Fields(b) {
		null = null || name == "data" && rawjson.KindOf(value) == rawjson.Null
	}
	if !null {
		return json.Unmarshal(b, (*a2a.Part)(p))
	}
	var rest struct {
		Filename  string         `json:"filename"`
		MediaType string         `json:"mediaType"`
		Metadata  map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(b, &rest); err != nil {
		return err
	}
	*p = sdkPart{
		Content:  a2a.Data{},
		Filename: rest.Filename, MediaType: rest.MediaType, Metadata: rest.Metadata,
	}
	return nil
}
