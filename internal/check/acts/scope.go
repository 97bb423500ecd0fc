package acts

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// Scope holds the values of a document's references. The zero Scope has none. A Scope belongs
// to one goroutine.
type Scope struct {
	values map[string]any
}

// Keep sets the value of "{{name}}"; "{{name.path}}" then is the value at a path in v.
func (s *Scope) Keep(name string, v any) {
	if s.values == nil {
		s.values = map[string]any{}
	}
	s.values[name] = v
}

// Value returns the value of a reference, or nil if there is none. Each $uuid is a new value.
func (s *Scope) Value(name string) any {
	if name == "$uuid" {
		return uuid.NewString()
	}
	first, path, _ := strings.Cut(name, ".")
	got, err := single(s.values[first], path)
	if err != nil {
		return nil
	}
	return got.v
}

// Fill replaces the references in all texts of v. A text that is only a reference becomes its
// value. A reference without a value becomes an empty text.
func (s *Scope) Fill(v any) (any, error) {
	return fill(v, func(name string) (any, error) {
		if v := s.Value(name); v != nil {
			return v, nil
		}
		return "", nil
	})
}

// Match returns nil if the value at a path below root satisfies an assertion: a plain value,
// operators, or an object or array that contains assertions.
func Match(root any, path string, want any) error {
	got, err := single(root, path)
	if err != nil {
		return err
	}
	return match(path, want, got)
}

// Operation returns the operation of an abstract name, such as "get_task", or name itself if it
// is unknown.
func Operation(name string) wire.Op {
	if op, ok := operations[name]; ok {
		return op
	}
	return wire.Op(name)
}

// Decode reads YAML or JSON into v by its json tags. Numbers in untyped values are json.Number.
// Unknown members are an error.
func Decode(data []byte, v any) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
