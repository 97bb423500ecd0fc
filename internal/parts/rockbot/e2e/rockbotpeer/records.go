package rockbotpeer

import (
	"encoding/json"
	"fmt"
)

// State is RockBot's AgentTaskState. Its serializer reads and writes the number.
type State int32

// The states of RockBot. There is none for a task that was rejected or needs credentials.
const (
	Submitted State = iota
	Working
	InputRequired
	Completed
	Failed
	Canceled
)

// Part is an AgentMessagePart. Data holds JSON as a string.
type Part struct {
	Kind     *string `cs:"kind,required"`
	Text     *string `cs:"text"`
	Data     *string `cs:"data"`
	MimeType *string `cs:"mimeType"`
}

// Message is an AgentMessage.
type Message struct {
	Role     *string           `cs:"role,required"`
	Parts    []Part            `cs:"parts,required"`
	Metadata map[string]string `cs:"metadata"`
}

// Artifact is an AgentArtifact.
type Artifact struct {
	Name        *string `cs:"name,required"`
	Description *string `cs:"description"`
	Parts       []Part  `cs:"parts,required"`
}

// Request is an AgentTaskRequest.
type Request struct {
	TaskID    *string           `cs:"taskId,required"`
	ContextID *string           `cs:"contextId"`
	Skill     *string           `cs:"skill,required"`
	Message   *Message          `cs:"message,required"`
	Metadata  map[string]string `cs:"metadata"`
}

// Result is an AgentTaskResult.
type Result struct {
	TaskID    *string    `cs:"taskId,required"`
	ContextID *string    `cs:"contextId"`
	State     State      `cs:"state,required"`
	Artifacts []Artifact `cs:"artifacts"`
	Message   *Message   `cs:"message"`
}

// StatusUpdate is an AgentTaskStatusUpdate.
type StatusUpdate struct {
	TaskID    *string  `cs:"taskId,required"`
	ContextID *string  `cs:"contextId"`
	State     State    `cs:"state,required"`
	Message   *Message `cs:"message"`
}

// TaskError is an AgentTaskError.
type TaskError struct {
	TaskID      *string `cs:"taskId,required"`
	ContextID   *string `cs:"contextId"`
	Code        *string `cs:"code,required"`
	Message     *string `cs:"message,required"`
	IsRetryable bool    `cs:"isRetryable"`
}

// CancelRequest is an AgentTaskCancelRequest.
type CancelRequest struct {
	TaskID    *string `cs:"taskId,required"`
	ContextID *string `cs:"contextId"`
}

// Skill is an AgentSkill.
type Skill struct {
	ID          *string  `cs:"id,required"`
	Name        *string  `cs:"name,required"`
	Description *string  `cs:"description"`
	Tags        []string `cs:"tags"`
	Examples    []string `cs:"examples"`
}

// Card is an AgentCard.
type Card struct {
	AgentName             *string `cs:"agentName,required"`
	Description           *string `cs:"description"`
	Version               *string `cs:"version"`
	Skills                []Skill `cs:"skills"`
	URL                   *string `cs:"url"`
	AuthHeaderName        *string `cs:"authHeaderName"`
	AuthHeaderValueBase64 *string `cs:"authHeaderValueBase64"`
	ProtocolVersion       *string `cs:"protocolVersion"`
	SupportsStreaming     *bool   `cs:"supportsStreaming"`
	IsDeregistering       bool    `cs:"isDeregistering"`
}

// record is implemented by the types above, with their full names in .NET.
type record interface{ typeName() string }

func (*Part) typeName() string          { return "RockBot.A2A.AgentMessagePart" }
func (*Message) typeName() string       { return "RockBot.A2A.AgentMessage" }
func (*Artifact) typeName() string      { return "RockBot.A2A.AgentArtifact" }
func (*Request) typeName() string       { return "RockBot.A2A.AgentTaskRequest" }
func (*Result) typeName() string        { return "RockBot.A2A.AgentTaskResult" }
func (*StatusUpdate) typeName() string  { return "RockBot.A2A.AgentTaskStatusUpdate" }
func (*TaskError) typeName() string     { return "RockBot.A2A.AgentTaskError" }
func (*CancelRequest) typeName() string { return "RockBot.A2A.AgentTaskCancelRequest" }
func (*Skill) typeName() string         { return "RockBot.A2A.AgentSkill" }
func (*Card) typeName() string          { return "RockBot.A2A.AgentCard" }

// Ptr returns a pointer to s, for a member that is not null.
func Ptr(s string) *string { return &s }

// Val returns the text of a member, and "" for null.
func Val(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TextPart returns a part of text.
func TextPart(text string) Part { return Part{Kind: Ptr("text"), Text: &text} }

// DataPart returns a part with v as JSON text in a string, like RockBot.
func DataPart(v any) Part {
	b, err := json.Marshal(v)
	if err != nil {
		panic("rockbotpeer: " + err.Error())
	}
	return Part{Kind: Ptr("data"), Data: Ptr(string(b)), MimeType: Ptr("application/json")}
}

// JSON decodes the data of a part like RockBot's gateway.
func (p *Part) JSON() (any, error) {
	if p.Data == nil {
		return nil, fmt.Errorf("the part of kind %q has no data", Val(p.Kind))
	}
	var v any
	err := json.Unmarshal([]byte(*p.Data), &v)
	return v, err
}

// TextMessage returns a message of an agent with one part of text.
func TextMessage(text string) *Message {
	return &Message{Role: Ptr("agent"), Parts: []Part{TextPart(text)}}
}

// Text returns the concatenated texts of the message's parts.
func (m *Message) Text() string {
	if m == nil {
		return ""
	}
	var s string
	for i := range m.Parts {
		s += Val(m.Parts[i].Text)
	}
	return s
}
