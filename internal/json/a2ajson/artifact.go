package a2ajson

import "github.com/a2aproject/a2a-go/v2/a2a"

const (
	artifactID = iota
	artifactName
	artifactDescription
	artifactParts
	artifactMetadata
	artifactExtensions
)

var artifactSchema = newStrict(Unknown,
	"artifactId", "name", "description", "parts", "metadata", "extensions")

// artifact writes the canonical artifact of raw.
func (c *canon) artifact(raw []byte) error {
	c.out = append(c.out, '{')
	parts := false
	err := artifactSchema.Each(raw, func(i int, name string, v []byte) error {
		if i == Unknown {
			c.unknown(name, v)
			return nil
		}
		parts = parts || i == artifactParts
		return c.artifactField(i, v)
	})
	if err != nil {
		return err
	}
	if !parts {
		if err := c.noParts(); err != nil {
			return err
		}
	}
	newID := func() string { return string(a2a.NewArtifactID()) }
	if err := c.fillID(&artifactSchema.fields[artifactID], newID); err != nil {
		return err
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *canon) artifactField(i int, v []byte) error {
	f := &artifactSchema.fields[i]
	switch i {
	case artifactID:
		return c.id(f, v)
	case artifactName, artifactDescription:
		return c.text(f, v)
	case artifactParts:
		return c.parts(v)
	case artifactMetadata:
		c.facts.Metadata = v
		return c.metadata(f, v)
	}
	return c.strings(f, v)
}
