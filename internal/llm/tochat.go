package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Names of metadata that chat content can hold.
const (
	metaDetail  = "detail"
	metaRefusal = "refusal"
	// metaFrom is the metadata of a message that holds the name of the participant.
	metaFrom = "name"
)

// chat names the target in losses.
const chat = "a chat completion"

// ToChat converts parts to the content of a message of the role user. Only that role may have
// images, audio and files.
func ToChat(parts a2a.ContentParts) (ChatContent, []Loss) {
	var l losses
	var c ChatContent
	for i, p := range parts {
		if part, ok := l.chatPart(index("parts", i), p); ok {
			c = append(c, part)
		}
	}
	return c, l
}

// ToChatText converts parts to text alone, for messages of the roles assistant, system and
// tool. A note in brackets replaces each part that is no text, which is a Loss.
func ToChatText(parts a2a.ContentParts) (ChatContent, []Loss) {
	var l losses
	var c ChatContent
	for i, p := range parts {
		if part, ok := l.chatWords(index("parts", i), p); ok {
			c = append(c, part)
		}
	}
	return c, l
}

// ToChatMessages converts messages of A2A to messages of a chat. Those of the caller get the
// role user, those of agents the role assistant. A ClientCall becomes a call of the assistant,
// each ClientResult a message of the role tool. A message without content is left out, which is
// a Loss.
func ToChatMessages(msgs ...*a2a.Message) ([]ChatMessage, []Loss) {
	var l losses
	var out []ChatMessage
	for i, m := range msgs {
		at := index("messages", i)
		if m == nil {
			l.gone(at, "there is no message")
			continue
		}
		made := l.chatMessages(at, m)
		if len(made) == 0 {
			l.gone(at, "has nothing to show")
		}
		out = append(out, made...)
	}
	return out, l
}

func (l *losses) chatMessages(at string, m *a2a.Message) []ChatMessage {
	l.metadata(at+".metadata", chat, m.Metadata, metaFrom)
	for i, uri := range m.Extensions {
		l.text(index(at+".extensions", i), uri, chat+" has no extensions")
	}
	for i, id := range m.ReferenceTasks {
		l.text(index(at+".referenceTaskIds", i), string(id), chat+" knows no tasks")
	}
	name, _ := m.Metadata[metaFrom].(string)
	if m.Role == a2a.MessageRoleAgent {
		return l.assistant(at, m, name)
	}
	var results []ChatMessage
	output := ChatMessage{Role: "user", Name: name}
	for i, p := range m.Parts {
		field := index(at+".parts", i)
		if r, ok := ClientResultOf(p); ok {
			results = append(results, l.toolResult(field, p, r))
			if p.Text() == "" {
				continue
			}
			p = a2a.NewTextPart(p.Text())
		}
		if part, ok := l.chatPart(field, p); ok {
			output.Content = append(output.Content, part)
		}
	}
	if len(output.Content) == 0 {
		return results
	}
	return append(results, output)
}

// assistant converts the message of an agent.
func (l *losses) assistant(at string, m *a2a.Message, name string) []ChatMessage {
	text := ChatMessage{Role: "assistant", Name: name}
	for i, p := range m.Parts {
		field := index(at+".parts", i)
		if c, ok := ClientCallOf(p); ok {
			text.ToolCalls = append(text.ToolCalls, l.toolCall(field, p, c))
			if p.Text() == "" {
				continue
			}
			p = a2a.NewTextPart(p.Text())
		}
		if part, ok := l.chatWords(field, p); ok {
			text.Content = append(text.Content, part)
		}
	}
	if len(text.Content) == 0 && len(text.ToolCalls) == 0 {
		return nil
	}
	return []ChatMessage{text}
}

func (l *losses) toolCall(at string, p *a2a.Part, c *ClientCall) ChatToolCall {
	l.metadata(at+".metadata", chat, p.Metadata, metaCallID, metaName, metaArgs, metaConsent)
	if c.Consent != p.Text() {
		l.text(at+".metadata."+metaConsent, c.Consent, chat+" asks no person for consent")
	}
	l.besides(at, p)
	args := "{}"
	if c.Args != nil {
		args = l.json(at+".metadata."+metaArgs, c.Args)
	}
	return ChatToolCall{ID: c.ID, Type: "function", Function: ChatFunction{Name: c.Name, Arguments: args}}
}

func (l *losses) toolResult(at string, p *a2a.Part, r *ClientResult) ChatMessage {
	m := ChatMessage{Role: "tool", ToolCallID: r.ID}
	l.besides(at, p)
	if r.Rejected {
		l.metadata(at+".metadata", chat, p.Metadata, metaCallID, metaRefused, metaReason)
		l.reshaped(at+".metadata."+metaRefused, "is a text of the tool")
		m.Content = ChatText("The call was rejected.")
		if r.Reason != "" {
			m.Content = ChatText("The call was rejected: " + r.Reason)
		}
		return m
	}
	l.metadata(at+".metadata", chat, p.Metadata, metaCallID, metaResult)
	text, ok := r.Result.(string)
	if !ok {
		text = l.json(at+".metadata."+metaResult, r.Result)
	}
	m.Content = ChatText(text)
	return m
}

// besides reports the values beside a tool's metadata that have no place in a chat.
func (l *losses) besides(at string, p *a2a.Part) {
	l.text(at+".filename", p.Filename, "a tool's part has no name there")
	l.text(at+".mediaType", p.MediaType, "a tool's part has no media type there")
	if _, ok := p.Content.(a2a.Text); !ok && p.Content != nil {
		l.gone(at, "has a tool's metadata, beside which there is room for text alone")
	}
}

// chatWords converts a part to text or a refusal.
func (l *losses) chatWords(at string, p *a2a.Part) (ChatPart, bool) {
	if p != nil {
		switch c := p.Content.(type) {
		case a2a.Raw:
			l.gone(at+".raw", "such a message holds text alone")
			l.metadata(at+".metadata", chat, p.Metadata)
			return note(p, fmt.Sprintf("%d bytes", len(c))), true
		case a2a.URL:
			l.partNames(at, p, true)
			l.reshaped(at+".url", "is a text")
			return address(p, string(c)), c != ""
		}
	}
	return l.chatPart(at, p)
}

// note returns the text that replaces content which is no text.
func note(p *a2a.Part, what string) ChatPart {
	mt := cmp.Or(p.MediaType, octets)
	if p.Filename != "" {
		return ChatPart{Type: chatText, Text: fmt.Sprintf("[%s: %s, %s]", p.Filename, mt, what)}
	}
	return ChatPart{Type: chatText, Text: fmt.Sprintf("[%s, %s]", mt, what)}
}

func address(p *a2a.Part, url string) ChatPart {
	if p.Filename != "" {
		url = p.Filename + ": " + url
	}
	return ChatPart{Type: chatText, Text: url}
}

// chatPart converts a part for a message of the role user.
func (l *losses) chatPart(at string, p *a2a.Part) (ChatPart, bool) {
	if p == nil || p.Content == nil {
		l.gone(at, "has no content")
		return ChatPart{}, false
	}
	switch c := p.Content.(type) {
	case a2a.Text:
		l.text(at+".filename", p.Filename, "a text has no name there")
		if mt := essence(p.MediaType); mt != "text/plain" {
			l.text(at+".mediaType", mt, "a text has no media type there")
		}
		if refused, _ := p.Metadata[metaRefusal].(bool); refused {
			l.metadata(at+".metadata", chat, p.Metadata, metaRefusal)
			return ChatPart{Type: chatRefusal, Refusal: string(c)}, true
		}
		l.metadata(at+".metadata", chat, p.Metadata)
		return ChatPart{Type: chatText, Text: string(c)}, true
	case a2a.Raw:
		return l.chatRaw(at, p, c), true
	case a2a.URL:
		return l.chatURL(at, p, string(c))
	case a2a.Data:
		l.partNames(at, p, false)
		l.reshaped(at+".data", "is JSON as a text")
		return ChatPart{Type: chatText, Text: l.json(at+".data", c.Value)}, true
	}
	l.gone(at, fmt.Sprintf("content of the type %T is unknown", p.Content))
	return ChatPart{}, false
}

// partNames reports the losses of a part that becomes a text: its file name and media type.
func (l *losses) partNames(at string, p *a2a.Part, named bool) {
	if !named {
		l.text(at+".filename", p.Filename, "a text has no name there")
	}
	if mt := essence(p.MediaType); named || mt != "application/json" {
		l.text(at+".mediaType", p.MediaType, "a text has no media type there")
	}
	l.metadata(at+".metadata", chat, p.Metadata)
}

// audioFormats maps media types to the audio formats that chat content can hold.
var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
}

func (l *losses) chatRaw(at string, p *a2a.Part, raw []byte) ChatPart {
	format := audioFormats[essence(p.MediaType)]
	if format != "" {
		l.text(at+".filename", p.Filename, "a sound has no name there")
		l.metadata(at+".metadata", chat, p.Metadata)
		return ChatPart{Type: chatAudio, InputAudio: &ChatAudio{Data: encode(raw), Format: format}}
	}
	url, ok := dataURL(p.MediaType, raw)
	if !ok {
		l.gone(at+".mediaType", "is not a media type")
	}
	if ok && KindOf(p.MediaType) == KindImage {
		l.text(at+".filename", p.Filename, "an image has no name there")
		return ChatPart{Type: chatImage, ImageURL: l.image(at, p, url)}
	}
	l.metadata(at+".metadata", chat, p.Metadata)
	return ChatPart{Type: chatFile, File: &ChatFile{Data: url, Name: p.Filename}}
}

func (l *losses) chatURL(at string, p *a2a.Part, url string) (ChatPart, bool) {
	if url == "" {
		l.gone(at, "has no content")
		return ChatPart{}, false
	}
	if mt, raw, problem := readDataURL(url); problem == "" {
		inline := *p
		inline.MediaType = mt
		if p.MediaType != mt {
			l.text(at+".mediaType", p.MediaType, "the data URL has another one")
		}
		return l.chatRaw(at, &inline, raw), true
	}
	known := imageAt(url)
	image := KindOf(p.MediaType) == KindImage || p.MediaType == "" && known != ""
	if !image || strings.HasPrefix(url, "data:") {
		l.partNames(at, p, true)
		l.reshaped(at+".url", "is a text, because only images may be at a URL")
		return address(p, url), true
	}
	l.text(at+".filename", p.Filename, "an image has no name there")
	if p.MediaType != anImage && p.MediaType != known {
		l.text(at+".mediaType", p.MediaType, "an image at a URL has no media type there")
	}
	return ChatPart{Type: chatImage, ImageURL: l.image(at, p, url)}, true
}

func (l *losses) image(at string, p *a2a.Part, url string) *ChatImage {
	detail, _ := p.Metadata[metaDetail].(string)
	if detail == "" {
		l.metadata(at+".metadata", chat, p.Metadata)
	} else {
		l.metadata(at+".metadata", chat, p.Metadata, metaDetail)
	}
	return &ChatImage{URL: url, Detail: detail}
}

// json returns a value as JSON. If that fails, it reports a loss and returns "null".
func (l *losses) json(at string, v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // models read the text, and labels have angle brackets
	if e.Encode(v) != nil {
		l.gone(at, "is not JSON")
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
