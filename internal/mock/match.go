package mock

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// matchInput holds the properties of a message that rules match.
type matchInput struct {
	skill   string
	text    string
	data    []any
	context string // named by the message, or that of its task
	turn    int
}

// newMatchInput reads the parts of a v1.0 message.
func newMatchInput(m object) *matchInput {
	a := &matchInput{}
	parts, _ := m["parts"].([]any)
	var b strings.Builder
	for _, p := range parts {
		part, _ := p.(object)
		if s, ok := part["text"].(string); ok {
			b.WriteString(s)
		}
		if v, ok := part["data"]; ok {
			a.data = append(a.data, v)
		}
	}
	a.text = b.String()
	return a
}

// matcher is a compiled condition. A nil matcher matches everything.
type matcher struct {
	contains string // in lower case
	equals   string
	regex    *regexp.Regexp
	data     any
	turn     int
	context  string
}

func (c *compiler) match(in *Match, key string) *matcher {
	if in == nil {
		return nil
	}
	m := &matcher{contains: strings.ToLower(in.Contains), equals: in.Equals, turn: in.Turn, context: in.Context}
	if in.Regex != "" {
		var err error
		if m.regex, err = regexp.Compile(in.Regex); err != nil {
			c.report(key+".regex", "%v", err)
		}
	}
	if in.Data != nil {
		m.data = c.json(in.Data, key+".data")
	}
	if in.Turn < 0 {
		c.report(key+".turn", "must not be negative; the first message is 1")
	}
	return m
}

func (m *matcher) matches(a *matchInput) bool {
	switch {
	case m == nil:
		return true
	case m.contains != "" && !strings.Contains(strings.ToLower(a.text), m.contains),
		m.equals != "" && a.text != m.equals,
		m.regex != nil && !m.regex.MatchString(a.text),
		m.turn != 0 && m.turn != a.turn,
		m.context != "" && m.context != a.context:
		return false
	case m.data == nil:
		return true
	}
	return slices.ContainsFunc(a.data, func(d any) bool { return within(m.data, d) })
}

// within reports whether got equals want, or is an object that contains want's members.
func within(want, got any) bool {
	w, ok := want.(object)
	if !ok {
		return same(want, got)
	}
	g, ok := got.(object)
	if !ok {
		return false
	}
	for name, v := range w {
		if x, there := g[name]; !there || !within(v, x) {
			return false
		}
	}
	return true
}

// same compares JSON values; numbers by their value.
func same(a, b any) bool {
	x, ok := a.(json.Number)
	y, isNumber := b.(json.Number)
	if ok && isNumber && x != y {
		f, err := x.Float64()
		g, err2 := y.Float64()
		return err == nil && err2 == nil && f == g
	}
	l, ok := a.([]any)
	r, isList := b.([]any)
	if !ok || !isList {
		return reflect.DeepEqual(a, b)
	}
	return slices.EqualFunc(l, r, within)
}

// fill replaces the placeholders of a text with values of the message.
func (a *matchInput) fill(text, task string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return strings.NewReplacer(
		"{{text}}", a.text, "{{skill}}", a.skill, "{{context}}", a.context, "{{task}}", task, "{{turn}}", strconv.Itoa(a.turn),
	).Replace(text)
}
