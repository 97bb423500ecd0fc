package a2ajson

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Default limits, which Options can change.
const (
	DefaultMaxParts = 1000
	DefaultMaxDepth = 100
)

// Options control the input and the output of the canonicalisers. The zero Options are for a
// complete, unchecked message of either role.
type Options struct {
	// Role is the role that a message must have. If empty, it may have either.
	Role a2a.MessageRole
	// Fill completes an object that lacks a REQUIRED id or role instead of refusing it. The id
	// is a new one; the role is Role, or the agent's if Role is empty.
	Fill bool
	// EmptyParts accepts an empty or absent list of parts.
	EmptyParts bool
	// OmitIDs omits taskId and contextId of a message from the output.
	OmitIDs bool
	// Checked is set if the input is known to be valid JSON of acceptable depth.
	Checked bool
	// MaxParts is the largest number of parts; zero means DefaultMaxParts.
	MaxParts int
	// MaxDepth is the largest nesting depth of arrays and objects; zero means DefaultMaxDepth.
	MaxDepth int
}

// Facts are the properties of a message or an artifact that callers need.
type Facts struct {
	// ID is the messageId or the artifactId.
	ID string
	// ContextID and TaskID belong to messages; empty if absent.
	ContextID string
	TaskID    a2a.TaskID
	// Role is the role of a message.
	Role a2a.MessageRole
	// MediaTypes are the media types of the parts, in order, empty where a part
	// names none.
	MediaTypes []string
	// Metadata is the raw metadata object, or nil. It aliases the input.
	Metadata []byte
}

// Message appends the canonical form of a message (specification §4.1.4).
func Message(dst, raw []byte, o Options) ([]byte, Facts, error) {
	return canonicalise(dst, raw, &o, (*canon).message)
}

// Artifact appends the canonical form of an artifact (specification §4.1.7).
func Artifact(dst, raw []byte, o Options) ([]byte, Facts, error) {
	return canonicalise(dst, raw, &o, (*canon).artifact)
}

func canonicalise(dst, raw []byte, o *Options, read func(*canon, []byte) error) ([]byte, Facts, error) {
	if !o.Checked {
		if err := Check(raw, o.MaxDepth); err != nil {
			return dst, Facts{}, err
		}
	}
	c := canon{Options: *o, out: dst}
	if err := read(&c, raw); err != nil {
		return dst, Facts{}, err
	}
	return c.out, c.facts, nil
}

// Check returns an a2a.ErrInvalidParams unless raw is valid JSON that is nested
// at most maxDepth deep, or DefaultMaxDepth if that is zero.
func Check(raw []byte, maxDepth int) error {
	if maxDepth == 0 {
		maxDepth = DefaultMaxDepth
	}
	if err := rawjson.Check(raw, maxDepth); err != nil {
		return apierror.New(a2a.ErrInvalidParams, "%v", err)
	}
	return nil
}

// canon writes one canonical object.
type canon struct {
	Options

	out   []byte
	facts Facts
}

// key begins a member with a name in quotes and its colon.
func (c *canon) key(quoted string) {
	if c.out[len(c.out)-1] != '{' {
		c.out = append(c.out, ',')
	}
	c.out = append(c.out, quoted...)
}

// raw writes a member with its value unchanged.
func (c *canon) raw(f *field, v []byte) {
	c.key(f.quoted)
	c.out = rawjson.AppendCompact(c.out, v)
}

// unknown writes a member that is not in the schema.
func (c *canon) unknown(name string, v []byte) {
	if c.out[len(c.out)-1] != '{' {
		c.out = append(c.out, ',')
	}
	c.out = append(rawjson.AppendString(c.out, name), ':')
	c.out = rawjson.AppendCompact(c.out, v)
}

// text writes an optional string unless it is empty.
func (c *canon) text(f *field, v []byte) error {
	if rawjson.KindOf(v) != rawjson.Text {
		return Invalid("must be a string")
	}
	if len(v) > len(`""`) {
		c.key(f.quoted)
		c.out = append(c.out, v...)
	}
	return nil
}

// strings writes a list of strings unless it is empty.
func (c *canon) strings(f *field, v []byte) error {
	n := 0
	if err := eachString(v, func([]byte) { n++ }); err != nil {
		return err
	}
	if n > 0 {
		c.raw(f, v)
	}
	return nil
}

// metadata writes the metadata object of a message, a part or an artifact.
func (c *canon) metadata(f *field, v []byte) error {
	if err := checkMetadata(v); err != nil {
		return err
	}
	c.raw(f, v)
	return nil
}
