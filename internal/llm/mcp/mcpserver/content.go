package mcpserver

import (
	"cmp"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/membudget"
)

// metaOrigin is the member of _meta with the origin of a content block. Package llm adds the
// other values that MCP has no place for.
const metaOrigin = "parley/origin"

// converted converts the result of a tool to the response to its call, and charges it to the account of the
// call.
func (svc *service) converted(res *llm.Result, account *membudget.Account) *mcp.CallToolResult {
	made, losses := llm.ToMCPResult(res.Parts, res.Error)
	out := &mcp.CallToolResult{IsError: res.Error, Content: []mcp.Content{}}
	if made.StructuredContent != nil {
		out.StructuredContent = made.StructuredContent
	}
	room, all := svc.Limits.Result, 0
	for i := range made.Content {
		b := &made.Content[i]
		if res.Origin != "" {
			if b.Meta == nil {
				b.Meta = make(map[string]any)
			}
			b.Meta[metaOrigin] = res.Origin
		}
		size := len(b.Text) + len(b.Data) + len(b.URI)
		if b.Resource != nil {
			size += len(b.Resource.Blob)
		}
		all += size
		if size > room {
			if b.Meta[dataMark] != nil {
				out.StructuredContent = nil // the block contains it
			}
			out.Content = append(out.Content, svc.keep(b))
			continue
		}
		room -= size
		out.Content = append(out.Content, block(b))
	}
	account.Charge(resultFactor * int64(all))
	for _, l := range losses {
		out.Content = append(out.Content, &mcp.TextContent{Text: fmt.Sprintf("(%v)", l)})
	}
	return out
}

// dataMark is in the _meta of texts that represent data.
const dataMark = "parley/data"

// block converts a content block to the SDK's type.
func block(b *llm.MCPBlock) mcp.Content {
	switch b.Type {
	case "image":
		return &mcp.ImageContent{Data: b.Data, MIMEType: b.MIMEType, Meta: b.Meta}
	case "audio":
		return &mcp.AudioContent{Data: b.Data, MIMEType: b.MIMEType, Meta: b.Meta}
	case "resource_link":
		return &mcp.ResourceLink{URI: b.URI, Name: b.Name, MIMEType: b.MIMEType, Meta: b.Meta}
	case "resource":
		r := b.Resource
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: r.URI, MIMEType: r.MIMEType, Blob: r.Blob}, Meta: b.Meta}
	}
	return &mcp.TextContent{Text: b.Text, Meta: b.Meta}
}

// contents converts a content block to the contents of a resource.
func contents(b *llm.MCPBlock) *mcp.ResourceContents {
	c := &mcp.ResourceContents{MIMEType: b.MIMEType, Meta: b.Meta}
	switch {
	case b.Resource != nil:
		c.MIMEType, c.Blob = b.Resource.MIMEType, b.Resource.Blob
	case b.Data != nil:
		c.Blob = b.Data
	case b.Type == "resource_link":
		c.MIMEType, c.Text = "text/uri-list", b.URI
	default:
		c.MIMEType, c.Text = "text/plain", b.Text
		if named, ok := b.Meta["parley/mediaType"].(string); ok {
			c.MIMEType = named
		} else if b.Meta[dataMark] != nil {
			c.MIMEType = "application/json"
		}
	}
	return c
}

// maxPreview is the largest number of bytes of a large text that are shown.
const maxPreview = 2 << 10

// keep stores a block that is too large, and returns a link to it.
func (svc *service) keep(b *llm.MCPBlock) mcp.Content {
	item := contents(b)
	size := int64(len(item.Text) + len(item.Blob))
	preview := clip.Bytes(item.Text, maxPreview)
	if guard.HasLabel(preview) {
		preview = "" // the label would have no end
	}
	uri, ok := svc.results.add(svc, item)
	if !ok {
		return &mcp.TextContent{Text: fmt.Sprintf("(%d bytes, which is more than can be kept here) %s", size, preview), Meta: b.Meta}
	}
	text := fmt.Sprintf("%d bytes are too much for the answer; read this resource for all of it.", size)
	if preview != "" {
		text += " It begins: " + preview
	}
	name, _ := b.Meta["parley/filename"].(string)
	return &mcp.ResourceLink{URI: uri, Name: cmp.Or(name, "result"), Description: text, MIMEType: item.MIMEType, Size: &size, Meta: b.Meta}
}
