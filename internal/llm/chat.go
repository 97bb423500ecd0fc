package llm

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ChatMessage is a message of a chat completion.
type ChatMessage struct {
	// Role is developer, system, user, assistant or tool.
	Role    string      `json:"role"`
	Content ChatContent `json:"content"`
	// Name is the name of the participant, or empty.
	Name string `json:"name,omitempty"`
	// Refusal is the text with which a model declines to answer.
	Refusal string `json:"refusal,omitempty"`
	// ToolCalls are the calls that an assistant requests.
	ToolCalls []ChatToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the call that a message of the role tool answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// ChatToolCall is a call of a tool.
type ChatToolCall struct {
	ID string `json:"id"`
	// Type is "function".
	Type     string       `json:"type"`
	Function ChatFunction `json:"function"`
}

// ChatFunction is a function and its arguments. A model wrote the arguments: they may be
// invalid JSON.
type ChatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ChatContent is the content of a message. In JSON it is a string, a list of parts, or null. A
// single text part is written as a string, no parts as null.
type ChatContent []ChatPart

// ChatText returns content with one text part.
func ChatText(text string) ChatContent { return ChatContent{{Type: chatText, Text: text}} }

// Text returns the texts of all text parts, joined by line breaks.
func (c ChatContent) Text() string {
	var b []byte
	n := 0
	for i := range c {
		if c[i].Type != chatText {
			continue
		}
		if n++; n > 1 {
			b = append(b, '\n')
		}
		b = append(b, c[i].Text...)
	}
	return string(b)
}

// MarshalJSON implements json.Marshaler.
func (c ChatContent) MarshalJSON() ([]byte, error) {
	switch {
	case len(c) == 0:
		return []byte("null"), nil
	case len(c) == 1 && c[0].Type == chatText:
		return json.Marshal(c[0].Text)
	}
	return json.Marshal([]ChatPart(c))
}

var errContent = errors.New("content must be a string or a list of parts")

// UnmarshalJSON implements json.Unmarshaler.
func (c *ChatContent) UnmarshalJSON(b []byte) error {
	*c = nil
	b = bytes.TrimSpace(b)
	switch {
	case string(b) == "null":
		return nil
	case len(b) > 0 && b[0] == '"':
		var text string
		err := json.Unmarshal(b, &text)
		*c = ChatText(text)
		return err
	case len(b) > 0 && b[0] == '[':
		return json.Unmarshal(b, (*[]ChatPart)(c))
	}
	return errContent
}

// The types of the parts of a message.
const (
	chatText    = "text"
	chatRefusal = "refusal"
	chatImage   = "image_url"
	chatAudio   = "input_audio"
	chatFile    = "file"
)

// ChatPart is a part of a message. Type decides which of the other fields is set.
type ChatPart struct {
	// Type is text, refusal, image_url, input_audio or file.
	Type       string     `json:"type"`
	Text       string     `json:"text,omitempty"`
	Refusal    string     `json:"refusal,omitempty"`
	ImageURL   *ChatImage `json:"image_url,omitempty"`
	InputAudio *ChatAudio `json:"input_audio,omitempty"`
	File       *ChatFile  `json:"file,omitempty"`
}

// MarshalJSON implements json.Marshaler. It writes the text of a text part even if it is empty.
func (p ChatPart) MarshalJSON() ([]byte, error) {
	type plain ChatPart
	if p.Type != chatText {
		return json.Marshal(plain(p))
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{p.Type, p.Text})
}

// ChatImage is an image, referenced by a URL or contained in a data URL.
type ChatImage struct {
	URL string `json:"url"`
	// Detail is auto, low or high; empty means auto.
	Detail string `json:"detail,omitempty"`
}

// ChatAudio is an audio clip.
type ChatAudio struct {
	// Data holds the clip as base64.
	Data string `json:"data"`
	// Format is wav or mp3.
	Format string `json:"format"`
}

// ChatFile is a file: its bytes in a data URL, or the provider's id of it.
type ChatFile struct {
	Data string `json:"file_data,omitempty"`
	ID   string `json:"file_id,omitempty"`
	Name string `json:"filename,omitempty"`
}
