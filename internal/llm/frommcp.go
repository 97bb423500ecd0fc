package llm

import (
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
)

// metaMCP is the name of the metadata under which a part keeps the members that only a block of
// MCP has.
const metaMCP = "mcp"

// FromMCP converts content blocks to parts. Members without a counterpart in A2A, such as
// annotations or the title of a link, become an object in the metadata of the part, under
// "mcp". Blocks of an unknown type are losses.
func FromMCP(blocks []MCPBlock) (a2a.ContentParts, []Loss) {
	var l losses
	return l.fromMCP(blocks), l
}

func (l *losses) fromMCP(blocks []MCPBlock) a2a.ContentParts {
	var parts a2a.ContentParts
	for i := range blocks {
		if p := l.fromBlock(index("content", i), &blocks[i]); p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// FromMCPResult converts the result of a tool to parts. Structured content that no block
// repeats as JSON comes first, as data. The caller must check IsError itself.
func FromMCPResult(r *MCPResult) (a2a.ContentParts, []Loss) {
	if r == nil {
		return nil, nil
	}
	var l losses
	parts := l.fromMCP(r.Content)
	if r.StructuredContent == nil {
		return parts, l
	}
	for _, p := range parts {
		v := p.Data()
		if t, ok := p.Content.(a2a.Text); ok {
			v, _ = parse(string(t))
		}
		if sameJSON(v, r.StructuredContent) {
			if _, ok := p.Content.(a2a.Text); ok {
				p.Content = a2a.Data{Value: r.StructuredContent}
			}
			return parts, l
		}
	}
	return append(a2a.ContentParts{a2a.NewDataPart(r.StructuredContent)}, parts...), l
}

// sameJSON reports whether two values are equal as JSON, whatever Go types hold their numbers.
func sameJSON(a, b any) bool {
	var l losses
	x, okX := parse(l.json("", a))
	y, okY := parse(l.json("", b))
	return okX && okY && len(l) == 0 && reflect.DeepEqual(x, y)
}

// fromBlock converts a block. It returns nil for a block that is lost.
func (l *losses) fromBlock(at string, b *MCPBlock) *a2a.Part {
	p := &a2a.Part{MediaType: b.MIMEType}
	rest := map[string]any{}
	switch b.Type {
	case mcpText:
		l.fromText(at, b, p)
	case mcpImage, mcpAudio:
		p.Content = a2a.Raw(b.Data)
	case mcpLink:
		p.Content = a2a.URL(b.URI)
		if b.Name != b.URI {
			p.Filename = b.Name
		}
		put(rest, "title", b.Title)
		put(rest, "description", b.Description)
		if b.Size != nil {
			rest["size"] = *b.Size
		}
	case mcpResource:
		if b.Resource == nil {
			l.gone(at+".resource", "is not there")
			return nil
		}
		fromResource(b.Resource, p, rest)
	default:
		l.gone(at, "A2A cannot carry a block of the type "+clip.Bytes(b.Type, maxQuoted))
		return nil
	}
	put(rest, "annotations", b.Annotations)
	l.fromMeta(at, b, p, rest)
	return p
}

func (l *losses) fromText(at string, b *MCPBlock, p *a2a.Part) {
	p.Content, p.MediaType = a2a.Text(b.Text), ""
	l.text(at+".mimeType", b.MIMEType, "a text has no media type in MCP")
	if is, _ := b.Meta[keepData].(bool); is {
		if v, ok := parse(b.Text); ok {
			p.Content = a2a.Data{Value: v}
		}
	}
}

func fromResource(r *MCPResource, p *a2a.Part, rest map[string]any) {
	p.MediaType = r.MIMEType
	if r.Text != nil {
		p.Content = a2a.Text(*r.Text)
	} else {
		p.Content = a2a.Raw(r.Blob)
	}
	if !strings.HasPrefix(r.URI, partScheme) {
		put(rest, "uri", r.URI)
	}
	put(rest, "resourceMeta", r.Meta)
}

// fromMeta restores the values of a part that was converted to a block, and keeps all other
// metadata.
func (l *losses) fromMeta(at string, b *MCPBlock, p *a2a.Part, rest map[string]any) {
	others := map[string]any{}
	for name, v := range b.Meta {
		if !restore(b.Type, p, name, v) {
			others[name] = v
		}
	}
	put(rest, "_meta", others)
	if len(rest) == 0 {
		return
	}
	kept := map[string]any{metaMCP: rest}
	for name, v := range p.Metadata {
		if name == metaMCP {
			l.gone(at+"._meta."+keepMetadata+"."+metaMCP, "was replaced by the block's")
		} else {
			kept[name] = v
		}
	}
	p.Metadata = kept
}

// restore restores one member of _meta in its part. It reports whether the member belongs
// there.
func restore(kind string, p *a2a.Part, name string, v any) bool {
	text, isText := v.(string)
	switch {
	case name == keepMediaType && isText && kind == mcpText:
		p.MediaType = text
		return true
	case name == keepFilename && isText:
		p.Filename = text
		return true
	case name == keepMetadata:
		object, ok := v.(map[string]any)
		if ok {
			p.Metadata = object
		}
		return ok
	case name == keepData && kind == mcpText:
		_, ok := p.Content.(a2a.Data)
		return ok
	}
	return false
}

// put sets a member unless its value is empty.
func put[T string | map[string]any](object map[string]any, name string, value T) {
	if len(value) > 0 {
		object[name] = value
	}
}
