package a2ajson

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// Unknown is the index of a field that is not in the Schema.
const Unknown = -1

// Schema is the set of an object's field names. A field is matched by its camelCase name and by
// the snake_case name of the same words.
type Schema struct {
	fields []field
	// strict is set for objects whose unknown fields are kept. Their names must not be
	// ambiguous either.
	strict bool
	// keepNull is the index of the only field for which null is a value.
	keepNull int
}

type field struct {
	camel, snake, alias string
	// quoted is the camelCase name in quotes, with the colon.
	quoted string
}

// NewSchema returns the schema with the given camelCase names, at most 32. The index of a field
// is its position in names. A name may be followed by a colon and an additional name of the
// field.
func NewSchema(names ...string) *Schema {
	s := &Schema{keepNull: Unknown}
	for _, name := range names {
		camel, alias, _ := strings.Cut(name, ":")
		s.fields = append(s.fields, field{
			camel:  camel,
			snake:  snake(camel),
			alias:  alias,
			quoted: `"` + camel + `":`,
		})
	}
	return s
}

// newStrict returns the schema of an object whose unknown fields are kept.
func newStrict(keepNull int, names ...string) *Schema {
	s := NewSchema(names...)
	s.strict = true
	s.keepNull = keepNull
	return s
}

func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Index returns the index of the field with the given name, or Unknown.
func (s *Schema) Index(name string) int {
	for i := range s.fields {
		f := &s.fields[i]
		if name == f.camel || name == f.snake || name != "" && name == f.alias {
			return i
		}
	}
	return Unknown
}

// Each calls visit for the fields of obj in their order, with their index, their name in obj
// and their raw value. Known fields that are null are skipped. Each returns an error about the
// field if obj is not an object, if a known field occurs twice, or if visit returns an error.
func (s *Schema) Each(obj []byte, visit func(i int, name string, v []byte) error) error {
	if rawjson.KindOf(obj) != rawjson.Object {
		return Invalid("must be an object")
	}
	var seen members
	for name, v := range rawjson.Fields(obj) {
		i := s.Index(name)
		if err := s.admit(&seen, i, name); err != nil {
			return err
		}
		if i != Unknown && i != s.keepNull && rawjson.KindOf(v) == rawjson.Null {
			continue
		}
		if err := visit(i, name, v); err != nil {
			return Under(name, err)
		}
	}
	return nil
}

// members records which fields of an object have occurred.
type members struct {
	known uint32
	other names
}

func (s *Schema) admit(seen *members, i int, name string) error {
	if i != Unknown {
		if seen.known&(1<<i) != 0 {
			return Under(name, Invalid("appears twice"))
		}
		seen.known |= 1 << i
		return nil
	}
	if !s.strict {
		return nil
	}
	if !seen.other.add(name) {
		return Under(clip.Bytes(name, maxQuoted), Invalid("appears twice"))
	}
	for i := range s.fields {
		if strings.EqualFold(name, s.fields[i].camel) {
			return Under(name, Invalid("must be written %s", s.fields[i].camel))
		}
	}
	return nil
}

// names is a set that is cheap while it is small.
type names struct {
	few  [8]string
	n    int
	many map[string]struct{}
}

// add reports whether name is new.
func (s *names) add(name string) bool {
	for _, known := range s.few[:s.n] {
		if known == name {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if _, ok := s.many[name]; ok {
		return false
	}
	if s.many == nil {
		s.many = make(map[string]struct{})
	}
	s.many[name] = struct{}{}
	return true
}

// Invalid returns an a2a.ErrInvalidParams with a problem. Under adds the field.
func Invalid(format string, args ...any) *apierror.Error {
	return problem(a2a.ErrInvalidParams, format, args...)
}

// problem returns an error about a field that Under names later.
func problem(sentinel error, format string, args ...any) *apierror.Error {
	text := fmt.Sprintf(format, args...)
	return &apierror.Error{Err: sentinel, Message: text, Violations: []apierror.Violation{{Problem: text}}}
}

// Under prepends field to the path of the field that err is about. An error without a field is
// returned unchanged.
func Under(field string, err error) error {
	e, ok := err.(*apierror.Error)
	if !ok || len(e.Violations) != 1 {
		return err
	}
	v := e.Violations[0]
	switch {
	case v.Field == "" || v.Field[0] == '[':
		v.Field = field + v.Field
	default:
		v.Field = field + "." + v.Field
	}
	return apierror.Field(e.Err, v.Field, "%s", v.Problem)
}

// maxQuoted is the number of bytes of a text that an error quotes.
const maxQuoted = 64
