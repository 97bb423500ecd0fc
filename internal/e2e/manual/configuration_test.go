package manual

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	_ "github.com/parley-a2a/parley/internal/testing/allparts"
)

func statusText(code int) string { return http.StatusText(code) }

// schema is a part of the JSON Schema of parley.yaml.
type schema struct {
	Ref         string             `json:"$ref"`
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Enum        []any              `json:"enum"`
	Const       any                `json:"const"`
	AnyOf       []*schema          `json:"anyOf"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Defs        map[string]*schema `json:"$defs"`
}

// configurationPage lists each key of parley.yaml.
func configurationPage(t *testing.T) string {
	t.Helper()
	top := new(schema)
	if err := json.Unmarshal(config.Schema(), top); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# parley.yaml\n\n" + strings.TrimSuffix(strings.TrimPrefix(wrapped(top.Description), " "), "\n") +
		"\n\n`parley init --schema` prints the JSON Schema of this page for editors, and `parley doctor` examines a\nfile. " +
		"Unknown keys are errors, with the file, the line and the nearest known key.\n\n## Top level\n\n")
	b.WriteString(top.keys(top.Defs))
	names := make([]string, 0, len(top.Defs))
	for name, def := range top.Defs {
		if def.Properties != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		def := top.Defs[name]
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		if def.Description != "" {
			b.WriteString(wrapped(def.Description) + "\n")
		}
		b.WriteString(def.keys(top.Defs))
	}
	return b.String()
}

// keys returns the table of the keys of an object, in the order of the alphabet.
func (s *schema) keys(defs map[string]*schema) string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("| Key | Value | Meaning |\n|---|---|---|\n")
	for _, name := range names {
		p := s.Properties[name]
		required := ""
		if def := defs[strings.TrimPrefix(p.Ref, "#/$defs/")]; def != nil && p.Description == "" {
			p.Description = def.Description
		}
		if slices.Contains(s.Required, name) {
			required = " **Required.**"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s%s |\n", name, p.value(), escapeCell(p.Description), required)
	}
	return b.String()
}

// plain are the values that the schema defines for several keys.
var plain = map[string]string{
	"text": "text", "switch": "`true`, `false`", "count": "number", "number": "number", "duration": "time", "durationOrNever": "time or `never`",
	"size": "size", "texts": "list of texts", "command": "text or list of texts", "store": "text or [Databases](#databases)", "nameOrNames": "text or list of texts", "names": "map of texts",
	"callers": "map of [Caller](#caller)", "Policy": "text or [rules](../policy.md)", "variable": "",
}

// value returns the kind of a value, for a cell of a table.
func (s *schema) value() string {
	switch {
	case s == nil:
		return ""
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		if v, ok := plain[name]; ok {
			return v
		}
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case len(s.Enum) > 0:
		return values(s.Enum)
	case s.Const != nil:
		return values([]any{s.Const})
	case len(s.AnyOf) > 0:
		var all []string
		for _, one := range s.AnyOf {
			if v := one.value(); v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return strings.Join(all, " or ")
	case s.Items != nil:
		return "list of " + s.Items.value()
	}
	return s.named()
}

// named returns the kind of a value without a reference.
func (s *schema) named() string {
	kinds := fmt.Sprint(s.Type)
	for _, k := range []string{"object", "array", "string", "integer", "number", "boolean"} {
		if strings.Contains(kinds, k) {
			return map[string]string{"object": "map", "array": "list", "string": "text", "integer": "number", "number": "number", "boolean": "`true`, `false`"}[k]
		}
	}
	return ""
}

func values(all []any) string {
	var words []string
	for _, v := range all {
		if v != nil {
			words = append(words, fmt.Sprintf("`%v`", v))
		}
	}
	return strings.Join(words, ", ")
}

func escapeCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// wrapped returns a text in lines of at most a hundred characters.
func wrapped(text string) string {
	return regexp.MustCompile(`(.{1,99})(?: |$)`).ReplaceAllString(text, "$1\n")
}
