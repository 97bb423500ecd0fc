package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
)

// FromChat converts the content of a message to parts. A file that only its provider knows is a
// Loss. Content that no chat can have is a ContentError, whose field begins with "content".
func FromChat(c ChatContent) (a2a.ContentParts, []Loss, error) {
	var l losses
	parts, err := l.fromChat("content", c)
	if err != nil {
		return nil, nil, err
	}
	return parts, l, nil
}

func (l *losses) fromChat(at string, c ChatContent) (a2a.ContentParts, error) {
	var parts a2a.ContentParts
	for i := range c {
		p, err := l.fromChatPart(index(at, i), &c[i])
		if err != nil {
			return nil, err
		}
		if p != nil {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// FromChatMessages converts the messages of a chat to messages of A2A, with new ids. Those of
// the assistant become messages of the agent, all others messages of the caller. Adjacent
// messages are not joined. Calls of the assistant become ClientCalls, messages of the role tool
// ClientResults. The fields of errors begin with "messages[0]" or another index.
func FromChatMessages(msgs []ChatMessage) ([]*a2a.Message, []Loss, error) {
	var l losses
	var out []*a2a.Message
	for i := range msgs {
		at := index("messages", i)
		m, err := l.fromChatMessage(at, &msgs[i])
		if err != nil {
			return nil, nil, err
		}
		if len(m.Parts) == 0 {
			l.gone(at, "has no content")
			continue
		}
		out = append(out, m)
	}
	return out, l, nil
}

func (l *losses) fromChatMessage(at string, c *ChatMessage) (*a2a.Message, error) {
	m := a2a.NewMessage(a2a.MessageRoleUser)
	if c.Name != "" {
		m.SetMeta(metaFrom, c.Name)
	}
	switch c.Role {
	case "user":
	case "assistant":
		m.Role = a2a.MessageRoleAgent
	case "system", "developer":
		l.reshaped(at+".role", "is the caller's, because A2A has no other for "+c.Role)
	case "tool":
		return m, l.fromTool(at, c, m)
	case "":
		return nil, broken(at+".role", "is required")
	default:
		return nil, broken(at+".role", "%q must be developer, system, user, assistant or tool", clip.Bytes(c.Role, maxQuoted))
	}
	var err error
	if m.Parts, err = l.fromChat(at+".content", c.Content); err != nil {
		return nil, err
	}
	if c.Refusal != "" {
		m.Parts = append(m.Parts, refusal(c.Refusal))
	}
	if c.ToolCallID != "" {
		l.gone(at+".tool_call_id", "belongs to messages of the role tool")
	}
	return m, l.fromCalls(at, c, m)
}

// fromCalls adds the calls of an assistant.
func (l *losses) fromCalls(at string, c *ChatMessage, m *a2a.Message) error {
	if len(c.ToolCalls) > 0 && m.Role != a2a.MessageRoleAgent {
		return broken(at+".tool_calls", "belong to messages of the role assistant")
	}
	for i := range c.ToolCalls {
		call, field := &c.ToolCalls[i], index(at+".tool_calls", i)
		switch {
		case call.Type != "" && call.Type != "function":
			return broken(field+".type", "%q is not function", clip.Bytes(call.Type, maxQuoted))
		case call.ID == "":
			return broken(field+".id", "is required")
		case call.Function.Name == "":
			return broken(field+".function.name", "is required")
		}
		args, ok := parse(call.Function.Arguments)
		if !ok {
			l.reshaped(field+".function.arguments", "are not JSON, and so a string")
			args = call.Function.Arguments
		}
		m.Parts = append(m.Parts, (&ClientCall{ID: call.ID, Name: call.Function.Name, Args: args}).Part())
	}
	return nil
}

func (l *losses) fromTool(at string, c *ChatMessage, m *a2a.Message) error {
	if c.ToolCallID == "" {
		return broken(at+".tool_call_id", "is required")
	}
	for i := range c.Content {
		if c.Content[i].Type != chatText {
			return broken(index(at+".content", i), "a tool gives text")
		}
	}
	if len(c.ToolCalls) > 0 {
		return broken(at+".tool_calls", "belong to messages of the role assistant")
	}
	l.text(at+".refusal", c.Refusal, "belongs to messages of the role assistant")
	text := c.Content.Text()
	var result any = text
	if v, ok := parse(text); ok {
		switch v.(type) {
		case map[string]any, []any:
			result = v
		}
	}
	m.Parts = a2a.ContentParts{(&ClientResult{ID: c.ToolCallID, Result: result}).Part()}
	return nil
}

// fromChatPart converts a part. It returns nil for a part that is lost.
func (l *losses) fromChatPart(at string, p *ChatPart) (*a2a.Part, error) {
	switch p.Type {
	case chatText:
		return a2a.NewTextPart(p.Text), nil
	case chatRefusal:
		return refusal(p.Refusal), nil
	case chatImage:
		if p.ImageURL == nil || p.ImageURL.URL == "" {
			return nil, broken(at+".image_url.url", "is required")
		}
		return fromImage(at+".image_url.url", p.ImageURL)
	case chatAudio:
		if p.InputAudio == nil {
			return nil, broken(at+".input_audio", "is required")
		}
		return fromAudio(at+".input_audio", p.InputAudio)
	case chatFile:
		if p.File == nil {
			return nil, broken(at+".file", "is required")
		}
		return l.fromFile(at+".file", p.File)
	case "":
		return nil, broken(at+".type", "is required")
	}
	return nil, broken(at+".type", "%q must be text, image_url, input_audio, file or refusal", clip.Bytes(p.Type, maxQuoted))
}

func refusal(text string) *a2a.Part {
	p := a2a.NewTextPart(text)
	p.Metadata = map[string]any{metaRefusal: true}
	return p
}

func fromImage(at string, c *ChatImage) (*a2a.Part, error) {
	var p *a2a.Part
	if strings.HasPrefix(c.URL, "data:") {
		mt, raw, problem := readDataURL(c.URL)
		switch {
		case problem != "":
			return nil, broken(at, "%s", problem)
		case KindOf(mt) != KindImage:
			return nil, broken(at, "%q is not an image media type", clip.Bytes(mt, maxQuoted))
		}
		p = &a2a.Part{Content: a2a.Raw(raw), MediaType: mt}
	} else {
		mt := imageAt(c.URL)
		if mt == "" {
			mt = anImage
		}
		p = a2a.NewFileURLPart(a2a.URL(c.URL), mt)
	}
	if c.Detail != "" {
		p.Metadata = map[string]any{metaDetail: c.Detail}
	}
	return p, nil
}

func fromAudio(at string, c *ChatAudio) (*a2a.Part, error) {
	raw, err := decode(c.Data)
	if err != nil {
		return nil, broken(at+".data", "is not valid base64")
	}
	switch c.Format {
	case "wav":
		return &a2a.Part{Content: a2a.Raw(raw), MediaType: "audio/wav"}, nil
	case "mp3":
		return &a2a.Part{Content: a2a.Raw(raw), MediaType: "audio/mpeg"}, nil
	}
	return nil, broken(at+".format", "%q must be wav or mp3", clip.Bytes(c.Format, maxQuoted))
}

func (l *losses) fromFile(at string, c *ChatFile) (*a2a.Part, error) {
	if c.Data == "" {
		if c.ID == "" {
			return nil, broken(at+".file_data", "is required")
		}
		l.gone(at+".file_id", "is a file that its provider alone can read")
		return nil, nil //nolint:nilnil // a part that is lost
	}
	mt, raw, problem := readDataURL(c.Data)
	if problem != "" {
		return nil, broken(at+".file_data", "%s", problem)
	}
	if mt == "" {
		mt = octets
	}
	l.text(at+".file_id", c.ID, "is not needed where the bytes are")
	return &a2a.Part{Content: a2a.Raw(raw), MediaType: mt, Filename: c.Name}, nil
}

// parse reads one JSON value and keeps the digits of its numbers. It reports whether it
// succeeded.
func parse(text string) (any, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF //nolint:errorlint // it is never wrapped
}

// maxQuoted is the largest number of bytes of a text that an error quotes.
const maxQuoted = 64
