package aguifront

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

// run is a run of a thread.
type run struct {
	eventWriter
}

// taskID is the id of the new task of a run: the same for the same run.
func (r *run) taskID() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(r.in.threadID), r.in.threadID, r.in.runID)))
	return "run-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// message returns the message to the agent: to the task that waits in the thread, or to a new
// one.
func (r *run) message() (*op.Send, error) {
	parts, err := r.parts()
	if err != nil {
		return nil, err
	}
	meta := map[string]any{}
	if len(r.in.rest) > 0 {
		meta["ag-ui"] = r.in.rest
	}
	if r.skill != "" {
		meta["skill"] = r.skill
	}
	b, err := json.Marshal(map[string]any{
		"message": map[string]any{
			"messageId": a2a.NewMessageID(), "role": a2a.MessageRoleUser, "taskId": r.taskID(), "contextId": r.in.threadID, "parts": parts,
		},
		"metadata": meta,
	})
	if err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	var d dialect.Decoder
	m, err := d.SendAt(b)
	if err != nil {
		return nil, err
	}
	m.Agent, m.Key = r.agent, r.visit.Key
	m.NewIDs, m.Once, m.Resume = true, true, true
	return m, nil
}

// known reports whether the agent has tasks in the thread.
func (r *run) known() (bool, error) {
	p, err := r.front.Engine.List(r.visit.Request.Context(), r.visit.Caller, &op.List{
		Target: op.Target{Agent: r.agent}, ContextID: r.in.threadID, PageSize: 1,
	})
	return err == nil && len(p.Tasks) > 0, err
}

// metaEarlier marks the part with the thread before the message.
const metaEarlier = "parley/earlier"

// parts returns the answers to interrupts and the new messages, preceded by the messages that
// the agent does not know.
func (r *run) parts() (a2a.ContentParts, error) {
	known, err := r.known()
	if err != nil {
		return nil, err
	}
	var parts a2a.ContentParts
	for i := range r.in.resume {
		parts = append(parts, payload(r.in.resume[i].Payload))
	}
	var before strings.Builder
	last := r.in.last()
	for i := range r.in.messages {
		m := &r.in.messages[i]
		own, err := partsOf(fmt.Sprintf("messages[%d]", i), m)
		switch {
		case err != nil:
			return nil, err
		case i > last && (m.Role == "user" || m.Role == "tool"):
			parts = append(parts, own...)
		case i > last || !known:
			appendHistory(&before, m, own)
		}
	}
	if before.Len() > 0 {
		p := a2a.NewTextPart("Earlier in this conversation:\n" + before.String())
		p.SetMeta(metaEarlier, true)
		parts = append(a2a.ContentParts{p}, parts...)
	}
	return parts, nil
}

// appendHistory adds a message to the text of the earlier thread, except activities and reasoning.
func appendHistory(b *strings.Builder, m *message, parts a2a.ContentParts) {
	if m.Role == "activity" || m.Role == "reasoning" {
		return
	}
	words, _ := llm.ToChatText(parts)
	if m.Role == "tool" {
		words = llm.ChatText(string(m.Content))
	}
	for i := range words {
		fmt.Fprintf(b, "%s: %s\n", m.Role, words[i].Text)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(b, "%s: (calls %s with %s)\n", m.Role, c.Function.Name, c.Function.Arguments)
	}
}

// payload is the answer to an interrupt: a text, or data.
func payload(raw json.RawMessage) *a2a.Part {
	if text, ok := rawjson.String(raw); ok {
		return a2a.NewTextPart(text)
	}
	if len(raw) == 0 {
		return a2a.NewTextPart("yes") // resolved without further text
	}
	return &a2a.Part{Content: a2a.Data{Value: raw}}
}

// partsOf returns the content of a message.
func partsOf(at string, m *message) (a2a.ContentParts, error) {
	text, isText := rawjson.String(m.Content)
	switch {
	case m.Role == "":
		return nil, invalid(at+".role", "is required")
	case m.Role == "tool":
		return toolPart(at, m)
	case isText:
		return a2a.ContentParts{a2a.NewTextPart(text)}, nil
	case m.Role != "user" || len(m.Content) == 0 || rawjson.KindOf(m.Content) == rawjson.Null:
		return nil, nil
	case rawjson.KindOf(m.Content) != rawjson.Array:
		return nil, invalid(at+".content", "must be a string or a list of parts")
	}
	return contentParts(at+".content", m.Content)
}

// toolPart returns the result of a tool that the client has performed.
func toolPart(at string, m *message) (a2a.ContentParts, error) {
	if m.ToolCallID == "" {
		return nil, invalid(at+".toolCallId", "is required")
	}
	result := &llm.ClientResult{ID: m.ToolCallID}
	if text, ok := rawjson.String(m.Content); ok {
		result.Result = text
		if k := rawjson.KindOf([]byte(strings.TrimSpace(text))); json.Valid([]byte(text)) && (k == rawjson.Object || k == rawjson.Array) {
			result.Result = json.RawMessage(text)
		}
	} else if len(m.Content) > 0 {
		result.Result = m.Content
	}
	if m.Error != "" {
		result.Rejected, result.Reason = true, m.Error
	}
	return a2a.ContentParts{result.Part()}, nil
}

// contentPart is a part of a message.
type contentPart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source *struct {
		Type     string `json:"type"`
		Value    string `json:"value"`
		MIMEType string `json:"mimeType"`
	} `json:"source"`
}

func contentParts(at string, raw []byte) (parts a2a.ContentParts, err error) {
	var list []contentPart
	if err := each(at, raw, &list); err != nil {
		return nil, err
	}
	for i := range list {
		p, err := list[i].part(fmt.Sprintf("%s[%d]", at, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (c *contentPart) part(at string) (*a2a.Part, error) {
	switch c.Type {
	case "text":
		return a2a.NewTextPart(c.Text), nil
	case "image", "audio", "video", "document":
	default:
		return nil, invalid(at+".type", "must be text, image, audio, video or document")
	}
	if c.Source == nil {
		return nil, invalid(at+".source", "is required")
	}
	switch c.Source.Type {
	case "data":
		raw, err := base64.StdEncoding.DecodeString(c.Source.Value)
		if err != nil {
			return nil, invalid(at+".source.value", "is not valid base64")
		}
		return &a2a.Part{Content: a2a.Raw(raw), MediaType: c.Source.MIMEType}, nil
	case "url":
		if c.Source.Value == "" {
			return nil, invalid(at+".source.value", "is required")
		}
		return &a2a.Part{Content: a2a.URL(c.Source.Value), MediaType: c.Source.MIMEType}, nil
	case "file":
		return nil, invalid(at+".source.type", "is not supported: a file that its provider alone can read")
	}
	return nil, invalid(at+".source.type", "must be data or url")
}

// declined reports whether the client declines the request of the agent.
func (r *run) declined() bool {
	for _, a := range r.in.resume {
		if a.Status == "cancelled" {
			return true
		}
	}
	return false
}

// interrupted returns the task of an interrupt, whose id begins with that of the task.
func interrupted(id string) a2a.TaskID {
	name, _, _ := strings.Cut(id, ":")
	return a2a.TaskID(name)
}

func (r *run) cancelTask() (*task.Head, error) {
	var head *task.Head
	for _, a := range r.in.resume {
		if a.Status != "cancelled" {
			continue
		}
		got, err := r.front.Engine.Cancel(r.visit.Request.Context(), r.visit.Caller, &op.Cancel{
			Target: op.Target{Agent: r.agent}, ID: interrupted(a.InterruptID),
		})
		if err != nil {
			return nil, err
		}
		got.Release()
		head = &got.Head
	}
	return head, nil
}
