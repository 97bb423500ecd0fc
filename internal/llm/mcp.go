package llm

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// MCPBlock is a content block of MCP. Type decides which of the other fields are set.
type MCPBlock struct {
	// Type is text, image, audio, resource_link or resource.
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Data holds the bytes of an image or of audio; base64 in JSON.
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	// URI, Name, Title, Description and Size belong to a resource_link.
	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	// Resource belongs to a resource.
	Resource *MCPResource `json:"resource,omitempty"`
	// Annotations are the annotations of MCP.
	Annotations map[string]any `json:"annotations,omitempty"`
	Meta        map[string]any `json:"_meta,omitempty"`
}

// MarshalJSON implements json.Marshaler. It writes the members that a type requires even if
// they are empty.
func (b MCPBlock) MarshalJSON() ([]byte, error) {
	type plain MCPBlock
	switch b.Type {
	case mcpText:
		return json.Marshal(struct {
			plain

			Text string `json:"text"`
		}{plain(b), b.Text})
	case mcpImage, mcpAudio:
		data := b.Data
		if data == nil {
			data = []byte{}
		}
		return json.Marshal(struct {
			plain

			Data []byte `json:"data"`
		}{plain(b), data})
	}
	return json.Marshal(plain(b))
}

// MCPResource is the contents of a resource: text or bytes.
type MCPResource struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Blob     []byte         `json:"blob,omitzero"`
	Meta     map[string]any `json:"_meta,omitempty"`
}

// MCPResult is the result of a tool.
type MCPResult struct {
	Content []MCPBlock `json:"content"`
	// StructuredContent is an object, or nil.
	StructuredContent map[string]any `json:"structuredContent,omitempty"`
	IsError           bool           `json:"isError,omitempty"`
}

// The types of content blocks.
const (
	mcpText     = "text"
	mcpImage    = "image"
	mcpAudio    = "audio"
	mcpLink     = "resource_link"
	mcpResource = "resource"
)

// Names in _meta under which a block keeps values that only a part of A2A has.
const (
	keepMediaType = "parley/mediaType"
	keepFilename  = "parley/filename"
	keepMetadata  = "parley/metadata"
	// keepData marks the JSON text of data.
	keepData = "parley/data"
)

// ToMCP converts parts to content blocks. Only parts without valid content are lost.
func ToMCP(parts a2a.ContentParts) ([]MCPBlock, []Loss) {
	var l losses
	blocks := make([]MCPBlock, 0, len(parts))
	for i, p := range parts {
		at := index("parts", i)
		if p == nil || p.Content == nil {
			l.gone(at, "has no content")
			continue
		}
		blocks = append(blocks, l.block(at, i, p))
	}
	return blocks, l
}

// ToMCPResult converts parts to the result of a tool. The first data part that is an object
// becomes its structured content. As MCP requires, it is also a text block.
func ToMCPResult(parts a2a.ContentParts, isError bool) (*MCPResult, []Loss) {
	blocks, l := ToMCP(parts)
	r := &MCPResult{Content: blocks, IsError: isError}
	for _, p := range parts {
		if p == nil {
			continue
		}
		if object, ok := p.Data().(map[string]any); ok {
			r.StructuredContent = object
			break
		}
	}
	return r, l
}

func (l *losses) block(at string, i int, p *a2a.Part) MCPBlock {
	var b MCPBlock
	switch c := p.Content.(type) {
	case a2a.Text:
		b = MCPBlock{Type: mcpText, Text: string(c)}
		b.keep(keepMediaType, p.MediaType)
	case a2a.Data:
		b = MCPBlock{Type: mcpText, Text: l.json(at+".data", c.Value)}
		b.meta(keepData, true)
		b.keep(keepMediaType, p.MediaType)
	case a2a.Raw:
		b = rawBlock(i, p, c)
	case a2a.URL:
		b = MCPBlock{Type: mcpLink, URI: string(c), MIMEType: p.MediaType}
		b.Name = cmp.Or(p.Filename, string(c)) // MCP requires a name
	default:
		l.gone(at, fmt.Sprintf("content of the type %T is unknown", p.Content))
		return MCPBlock{Type: mcpText}
	}
	b.keep(keepFilename, p.Filename)
	if len(p.Metadata) > 0 {
		b.meta(keepMetadata, p.Metadata)
	}
	return b
}

func rawBlock(i int, p *a2a.Part, raw []byte) MCPBlock {
	switch KindOf(p.MediaType) {
	case KindImage:
		return MCPBlock{Type: mcpImage, Data: raw, MIMEType: p.MediaType}
	case KindAudio:
		return MCPBlock{Type: mcpAudio, Data: raw, MIMEType: p.MediaType}
	}
	if raw == nil {
		raw = []byte{}
	}
	return MCPBlock{Type: mcpResource, Resource: &MCPResource{URI: fmt.Sprintf("%s%d", partScheme, i), MIMEType: p.MediaType, Blob: raw}}
}

const partScheme = "parley:part/"

func (b *MCPBlock) keep(name, value string) {
	if value != "" {
		b.meta(name, value)
	}
}

func (b *MCPBlock) meta(name string, value any) {
	if b.Meta == nil {
		b.Meta = make(map[string]any)
	}
	b.Meta[name] = value
}
