package acts

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Lookup follows a dot-path, such as "task.artifacts[0].parts[*].text", and returns all values
// at it. Only a path with [*] can have more than one.
func Lookup(root any, path string) ([]any, error) {
	found := []any{root}
	if path == "" {
		return found, nil
	}
	for word := range strings.SplitSeq(path, ".") {
		name, indices, _ := strings.Cut(word, "[")
		if name != "" {
			found = each(found, func(v any) []any {
				if m, ok := v.(map[string]any); ok {
					if field, there := m[name]; there {
						return []any{field}
					}
				}
				return nil
			})
		}
		if indices == "" {
			continue
		}
		for index := range strings.SplitSeq(strings.TrimSuffix(indices, "]"), "][") {
			step, err := element(index)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", path, err)
			}
			found = each(found, step)
		}
	}
	return found, nil
}

func each(in []any, f func(any) []any) []any {
	var out []any
	for _, v := range in {
		out = append(out, f(v)...)
	}
	return out
}

// element returns a function that selects one element of an array, or all.
func element(index string) (func(any) []any, error) {
	if index == "*" {
		return func(v any) []any {
			list, _ := v.([]any)
			return list
		}, nil
	}
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not an index", index)
	}
	return func(v any) []any {
		if list, ok := v.([]any); ok && n < len(list) {
			return []any{list[n]}
		}
		return nil
	}, nil
}

// single returns the only value at a path.
func single(root any, path string) (value, error) {
	found, err := Lookup(root, path)
	if err != nil || len(found) == 0 {
		return value{}, err
	}
	return value{found[0], true}, nil
}

// condition is the expression of a repeat.
type condition struct {
	path   string
	negate bool
	values []string
}

var conditionForm = regexp.MustCompile(`^\s*(\S+)\s+(==|!=|in)\s+(.+?)\s*$`)

// parseCondition reads "path == value", "path != value" or "path in [a, b]".
func parseCondition(s string) (*condition, error) {
	m := conditionForm.FindStringSubmatch(s)
	if m == nil {
		return nil, fmt.Errorf("invalid condition %q: write path == value, path != value or path in [values]", s)
	}
	c := &condition{path: m[1], negate: m[2] == "!=", values: []string{m[3]}}
	if m[2] == "in" {
		inner, opened := strings.CutPrefix(m[3], "[")
		inner, closed := strings.CutSuffix(inner, "]")
		if !opened || !closed {
			return nil, errors.New("the values after in must be in brackets")
		}
		c.values = strings.Split(inner, ",")
	}
	for i, v := range c.values {
		v = strings.TrimSpace(v)
		if len(v) > 1 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
			v = v[1 : len(v)-1]
		}
		c.values[i] = v
	}
	return c, nil
}

// holds reports whether the condition is true of an answer.
func (c *condition) holds(root any) (bool, error) {
	got, err := single(root, c.path)
	if err != nil {
		return false, err
	}
	is := false
	for _, want := range c.values {
		is = is || got.there && fmt.Sprint(got.v) == want
	}
	return is != c.negate, nil
}
