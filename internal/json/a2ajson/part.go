package a2ajson

import "github.com/parley-a2a/parley/internal/json/rawjson"

const (
	partText = iota
	partRaw
	partURL
	partData
	partMetadata
	partFilename
	partMediaType
)

// A part's data may be null, which differs from absent data (specification §4.1.6). Older peers
// call the media type mimeType.
var partSchema = newStrict(partData,
	"text", "raw", "url", "data", "metadata", "filename", "mediaType:mimeType")

// parts writes the list of parts of a message or an artifact.
func (c *canon) parts(v []byte) error {
	if rawjson.KindOf(v) != rawjson.Array {
		return Invalid("must be a list of parts")
	}
	limit := c.MaxParts
	if limit == 0 {
		limit = DefaultMaxParts
	}
	n := 0
	c.key(`"parts":`)
	c.out = append(c.out, '[')
	for raw := range rawjson.Elements(v) {
		if n == limit {
			return Invalid("has more than %d parts", limit)
		}
		if n > 0 {
			c.out = append(c.out, ',')
		}
		if err := c.part(raw); err != nil {
			return Under(index(n), err)
		}
		n++
	}
	c.out = append(c.out, ']')
	if n == 0 && !c.EmptyParts {
		return Invalid("must not be empty")
	}
	return nil
}

// noParts handles an absent list of parts.
func (c *canon) noParts() error {
	if !c.EmptyParts {
		return Under("parts", Invalid("is required"))
	}
	c.key(`"parts":[]`)
	return nil
}

func (c *canon) part(raw []byte) error {
	c.out = append(c.out, '{')
	c.facts.MediaTypes = append(c.facts.MediaTypes, "")
	arms := 0
	err := partSchema.Each(raw, func(i int, name string, v []byte) error {
		if i == Unknown {
			c.unknown(name, v)
			return nil
		}
		if i == partData && rawjson.KindOf(v) == rawjson.Null && hasContent(raw) {
			return nil
		}
		if i <= partData {
			arms++
		}
		return c.partField(i, v)
	})
	if err != nil {
		return err
	}
	if arms != 1 {
		return Invalid("must have exactly one of text, raw, url and data")
	}
	c.out = append(c.out, '}')
	return nil
}

// hasContent reports whether a part has another content than data. Encoders that write absent
// members as null write data, too.
func hasContent(part []byte) bool {
	for name, v := range rawjson.Fields(part) {
		if i := partSchema.Index(name); partText <= i && i < partData && rawjson.KindOf(v) != rawjson.Null {
			return true
		}
	}
	return false
}

func (c *canon) partField(i int, v []byte) error {
	f := &partSchema.fields[i]
	switch i {
	case partText:
		return c.content(f, v)
	case partURL:
		if len(v) == len(`""`) {
			return Invalid("must not be empty")
		}
		return c.content(f, v)
	case partRaw:
		c.key(f.quoted)
		out, err := appendBase64(c.out, v)
		c.out = out
		return err
	case partData:
		c.raw(f, v)
		return nil
	case partMetadata:
		return c.metadata(f, v)
	case partMediaType:
		c.facts.MediaTypes[len(c.facts.MediaTypes)-1], _ = rawjson.String(v)
	}
	return c.text(f, v)
}

// content writes a string that may be empty.
func (c *canon) content(f *field, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Text {
		return Invalid("must be a string")
	}
	c.key(f.quoted)
	c.out = append(c.out, v...)
	return nil
}
