package acts

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// scope holds the values of a test's variables.
type scope struct {
	// steps are the answers of steps, by id.
	steps map[string]*answer
	// captured are the captured values, by "step.name".
	captured map[string]any
	// own are the document's variables; hints are those of the runner.
	own, hints map[string]string
	env        func(string) (string, bool)
	depth      int
}

// answer is the answer to a step, for assertions and captures.
type answer struct {
	root    any
	headers any
	status  int
}

var reference = regexp.MustCompile(`\{\{\s*([^{}]+?)\s*\}\}`)

// fill replaces the references in all texts of v. A text that is only a reference becomes the
// value with its type.
func (s *scope) fill(v any) (any, error) { return fill(v, s.resolve) }

// resolver returns the value of a reference.
type resolver func(name string) (any, error)

func fill(v any, resolve resolver) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, resolve)
	case []any:
		filled := make([]any, len(v))
		for i := range v {
			var err error
			if filled[i], err = fill(v[i], resolve); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case map[string]any:
		filled := make(map[string]any, len(v))
		for name, field := range v {
			var err error
			if filled[name], err = fill(field, resolve); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return v, nil
}

// object is fill for an object.
func (s *scope) object(m map[string]any) (map[string]any, error) {
	v, err := s.fill(m)
	if err != nil {
		return nil, err
	}
	filled, _ := v.(map[string]any)
	return filled, nil
}

func (s *scope) fillText(text string) (any, error) { return fillText(text, s.resolve) }

func fillText(text string, resolve resolver) (any, error) {
	if m := reference.FindStringSubmatchIndex(text); m != nil && m[0] == 0 && m[1] == len(text) {
		return resolve(text[m[2]:m[3]])
	}
	var wrong error
	filled := reference.ReplaceAllStringFunc(text, func(ref string) string {
		v, err := resolve(reference.FindStringSubmatch(ref)[1])
		if err != nil {
			wrong = err
			return ref
		}
		if text, ok := v.(string); ok {
			return text
		}
		return shown(v)
	})
	return filled, wrong
}

// maxDepth bounds the nesting of variables that refer to variables.
const maxDepth = 8

// resolve returns the value of an expression. It searches captured values and answers, the
// document's variables, those of the runner, the environment, and generators, in that order.
func (s *scope) resolve(name string) (any, error) {
	if v, ok := s.captured[name]; ok {
		return v, nil
	}
	step, rest, dotted := strings.Cut(name, ".")
	if a := s.steps[step]; dotted && a != nil {
		return a.part(rest)
	}
	if v, ok := s.own[name]; ok {
		if s.depth++; s.depth > maxDepth {
			return nil, fmt.Errorf("the variable %q refers to itself", name)
		}
		defer func() { s.depth-- }()
		return s.fillText(v)
	}
	if v, ok := s.hints[name]; ok {
		return v, nil
	}
	if env, ok := strings.CutPrefix(name, "env."); ok && s.env != nil {
		if v, set := s.env(env); set {
			return v, nil
		}
	}
	if name == "$uuid" {
		return uuid.NewString(), nil
	}
	return nil, fmt.Errorf("{{%s}} has no value", name)
}

// part returns a part of an answer: "response", "headers" or "status", or a path below
// the first two.
func (a *answer) part(name string) (any, error) {
	first, path, _ := strings.Cut(name, ".")
	root := a.root
	switch first {
	case "response":
	case "headers":
		root = a.headers
	case "status":
		return a.status, nil
	default:
		path = name
	}
	v, err := single(root, path)
	if err == nil && !v.there {
		err = fmt.Errorf("the answer has no %s", name)
	}
	return v.v, err
}
