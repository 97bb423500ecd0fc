package acts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// mismatch is an assertion that does not hold.
type mismatch struct {
	path      string
	want, got string
}

func (m *mismatch) Error() string {
	where := strings.TrimPrefix(m.path, ".")
	if where == "" {
		where = "the answer"
	}
	return fmt.Sprintf("%s is %s, want %s", where, m.got, m.want)
}

// unclear is an assertion that is invalid.
type unclear string

func (u unclear) Error() string { return string(u) }

// value is a value that may be missing.
type value struct {
	v     any
	there bool
}

func (v value) String() string {
	if !v.there {
		return "absent"
	}
	return shown(v.v)
}

// maxShown bounds the length of a value in a message.
const maxShown = 300

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > maxShown {
		return strings.ToValidUTF8(string(b[:maxShown]), "") + "…"
	}
	return string(b)
}

// match returns nil if got satisfies want: a plain value, operators, or an object or array that
// contains assertions.
func match(path string, want any, got value) error {
	switch want := want.(type) {
	case map[string]any:
		return matchMap(path, want, got)
	case []any:
		return matchList(path, want, got)
	}
	if !got.there || !same(want, got.v) {
		return &mismatch{path, shown(want), got.String()}
	}
	return nil
}

func matchList(path string, want []any, got value) error {
	list, isList := got.v.([]any)
	if !isList {
		return &mismatch{path, "an array", got.String()}
	}
	for i, w := range want {
		item := value{}
		if i < len(list) {
			item = value{list[i], true}
		}
		if err := match(fmt.Sprintf("%s[%d]", path, i), w, item); err != nil {
			return err
		}
	}
	return nil
}

// matchMap applies the operators among the keys, and treats the other keys as fields.
func matchMap(path string, want map[string]any, got value) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		if op, ok := operators[name]; ok && op.takes(w) {
			if err := op.holds(path, w, got); err != nil {
				return err
			}
			continue
		}
		object, isObject := got.v.(map[string]any)
		if !isObject && !absent(w) {
			return &mismatch{path, "an object with the field " + name, got.String()}
		}
		field, there := object[name]
		if err := match(path+"."+name, w, value{field, there}); err != nil {
			return err
		}
	}
	return nil
}

// absent reports whether an assertion holds for a missing value.
func absent(want any) bool { return match("", want, value{}) == nil }

// operator is an operator of assertions.
type operator struct {
	// takes reports whether the value is an operand, not an assertion on a field of that name.
	takes func(operand any) bool
	holds func(path string, operand any, got value) error
}

func isText(v any) bool     { _, ok := v.(string); return ok }
func isNumber(v any) bool   { _, ok := v.(json.Number); return ok }
func isTrue(v any) bool     { return v == true }
func isList(v any) bool     { _, ok := v.([]any); return ok }
func isAny(any) bool        { return true }
func isTypeName(v any) bool { return slices.Contains(typeNames, v) }

var typeNames = []any{"string", "number", "boolean", "array", "object", "null"}

var operators map[string]operator

func init() {
	operators = map[string]operator{
		"type":        {isTypeName, plainly("", func(want any, got value) bool { return typeOf(got.v) == want })},
		"exists":      {isTrue, func(path string, _ any, got value) error { return iff(got.there, path, "present", got) }},
		"absent":      {isTrue, func(path string, _ any, got value) error { return iff(!got.there, path, "absent", got) }},
		"contains":    {isText, plainly("contains ", onText(strings.Contains))},
		"starts_with": {isText, plainly("begins with ", onText(strings.HasPrefix))},
		"ends_with":   {isText, plainly("ends with ", onText(strings.HasSuffix))},
		"matches":     {isText, matches},
		"gte":         {isNumber, plainly(">= ", order(func(c int) bool { return c >= 0 }))},
		"lte":         {isNumber, plainly("<= ", order(func(c int) bool { return c <= 0 }))},
		"gt":          {isNumber, plainly("> ", order(func(c int) bool { return c > 0 }))},
		"lt":          {isNumber, plainly("< ", order(func(c int) bool { return c < 0 }))},
		"count":       {isNumber, plainly("length ", length(func(c int) bool { return c == 0 }))},
		"count_gte":   {isNumber, plainly("length >= ", length(func(c int) bool { return c >= 0 }))},
		"count_lte":   {isNumber, plainly("length <= ", length(func(c int) bool { return c <= 0 }))},
		"one_of":      {isList, anyOf},
		"any_of":      {isList, anyOf},
		"all_of":      {isList, allOf},
		"not":         {isAny, not},
		"items":       {isAny, items},
	}
}

func iff(holds bool, path, want string, got value) error {
	if holds {
		return nil
	}
	return &mismatch{path, want, got.String()}
}

// plainly builds an operator from a function that holds only for present values.
func plainly(name string, f func(want any, got value) bool) func(string, any, value) error {
	return func(path string, want any, got value) error {
		text := name + shown(want)
		if name == "" {
			text = fmt.Sprint(want)
		}
		return iff(got.there && f(want, got), path, text, got)
	}
}

func onText(f func(s, part string) bool) func(any, value) bool {
	return func(want any, got value) bool {
		s, ok := got.v.(string)
		return ok && f(s, want.(string))
	}
}

func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > 64 {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

func order(f func(int) bool) func(any, value) bool {
	return func(want any, got value) bool {
		w, known := rational(want)
		g, number := rational(got.v)
		return known && number && f(g.Cmp(w))
	}
}

// length compares the length of an array, or of a string in characters.
func length(f func(int) bool) func(any, value) bool {
	return func(want any, got value) bool {
		n := 0
		switch v := got.v.(type) {
		case []any:
			n = len(v)
		case string:
			n = utf8.RuneCountInString(v)
		default:
			return false
		}
		w, err := want.(json.Number).Int64()
		return err == nil && f(n-int(w))
	}
}

func matches(path string, want any, got value) error {
	re, err := regexp.Compile(want.(string))
	if err != nil {
		return unclear(fmt.Sprintf("%s: %v", path, err))
	}
	s, ok := got.v.(string)
	return iff(ok && re.MatchString(s), path, "text that matches "+want.(string), got)
}

func anyOf(path string, want any, got value) error {
	for _, w := range want.([]any) {
		if match(path, w, got) == nil {
			return nil
		}
	}
	return &mismatch{path, "one of " + shown(want), got.String()}
}

func allOf(path string, want any, got value) error {
	for _, w := range want.([]any) {
		if err := match(path, w, got); err != nil {
			return err
		}
	}
	return nil
}

func not(path string, want any, got value) error {
	return iff(match(path, want, got) != nil, path, "not "+shown(want), got)
}

// items evaluates an assertion on each element, or a list of assertions on the first ones.
func items(path string, want any, got value) error {
	if first, ok := want.([]any); ok {
		return matchList(path, first, got)
	}
	list, ok := got.v.([]any)
	if !ok {
		return &mismatch{path, "an array", got.String()}
	}
	for i, item := range list {
		if err := match(fmt.Sprintf("%s[%d]", path, i), want, value{item, true}); err != nil {
			return err
		}
	}
	return nil
}

func typeOf(v any) any {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// same compares scalars; numbers by value.
func same(a, b any) bool {
	x, number := rational(a)
	y, other := rational(b)
	if number && other {
		return x.Cmp(y) == 0
	}
	return shown(a) == shown(b) && typeOf(a) == typeOf(b)
}
