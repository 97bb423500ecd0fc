package a2ajson

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

const (
	messageID = iota
	messageContextID
	messageTaskID
	messageRole
	messageParts
	messageMetadata
	messageExtensions
	messageReferences
)

var messageSchema = newStrict(Unknown,
	"messageId", "contextId", "taskId", "role", "parts", "metadata", "extensions", "referenceTaskIds")

// message writes the canonical message of raw.
func (c *canon) message(raw []byte) error {
	c.out = append(c.out, '{')
	parts := false
	err := messageSchema.Each(raw, func(i int, name string, v []byte) error {
		if i == Unknown {
			c.unknown(name, v)
			return nil
		}
		parts = parts || i == messageParts
		return c.messageField(i, v)
	})
	if err != nil {
		return err
	}
	if !parts {
		if err := c.noParts(); err != nil {
			return err
		}
	}
	if err := c.fillMessage(); err != nil {
		return err
	}
	c.out = append(c.out, '}')
	return nil
}

func (c *canon) messageField(i int, v []byte) error {
	f := &messageSchema.fields[i]
	switch i {
	case messageID:
		return c.id(f, v)
	case messageContextID:
		id, err := ReadID(v)
		c.facts.ContextID = id
		return c.link(f, v, err)
	case messageTaskID:
		id, err := ReadID(v)
		c.facts.TaskID = a2a.TaskID(id)
		return c.link(f, v, err)
	case messageRole:
		return c.role(f, v)
	case messageParts:
		return c.parts(v)
	case messageMetadata:
		c.facts.Metadata = v
		return c.metadata(f, v)
	}
	return c.strings(f, v)
}

// id writes a REQUIRED id. An empty one counts as absent.
func (c *canon) id(f *field, v []byte) (err error) {
	if c.facts.ID, err = ReadID(v); err != nil {
		return err
	}
	return c.text(f, v)
}

// link writes the id of the context or the task, unless OmitIDs is set.
func (c *canon) link(f *field, v []byte, err error) error {
	if err != nil || c.OmitIDs {
		return err
	}
	return c.text(f, v)
}

func (c *canon) role(f *field, v []byte) error {
	role, err := ReadRole(v)
	if err != nil {
		return err
	}
	if c.Role != "" && c.Role != role {
		return Invalid("must be %s", c.Role)
	}
	c.setRole(f, role)
	return nil
}

func (c *canon) setRole(f *field, role a2a.MessageRole) {
	c.facts.Role = role
	c.key(f.quoted)
	c.out = rawjson.AppendString(c.out, string(role))
}

// fillMessage fills or refuses absent REQUIRED fields.
func (c *canon) fillMessage() error {
	if err := c.fillID(&messageSchema.fields[messageID], a2a.NewMessageID); err != nil {
		return err
	}
	if c.facts.Role != "" {
		return nil
	}
	f := &messageSchema.fields[messageRole]
	switch {
	case !c.Fill:
		return Under(f.camel, Invalid("is required"))
	case c.Role != "":
		c.setRole(f, c.Role)
	default:
		c.setRole(f, a2a.MessageRoleAgent)
	}
	return nil
}

func (c *canon) fillID(f *field, make func() string) error {
	if c.facts.ID != "" {
		return nil
	}
	if !c.Fill {
		return Under(f.camel, Invalid("is required"))
	}
	c.facts.ID = make()
	c.key(f.quoted)
	c.out = rawjson.AppendString(c.out, c.facts.ID)
	return nil
}
