package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

const (
	// foldNodes is how many values a tree of JSON may have, and foldDepth how deep it may be; other
	// values are shown as text.
	foldNodes = 1500
	foldDepth = 24
	// foldOpen is the depth to which a tree is open, and foldSmall the length of text that needs none.
	foldOpen  = 2
	foldSmall = 160
)

var errNoTree = errors.New("too large for a tree")

// jsonValue is a value of JSON with its members in their order.
type jsonValue struct {
	name    string // of a member; empty in arrays
	text    string // of a value without members
	kind    json.Delim
	members []*jsonValue
}

// folded returns JSON as elements that fold, or nothing for a value that is short, too large or no
// JSON.
func folded(b []byte) pages.HTML {
	if len(b) <= foldSmall || len(b) > maxText {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	nodes := 0
	v, err := readValue(d, &nodes, 0)
	if err != nil || v.kind == 0 || d.More() {
		return ""
	}
	var w markdownWriter
	w.fold(v, 0)
	return pages.HTML(w.String()) //nolint:gosec // text is escaped by put, and elements are constants
}

// readValue reads the next value.
func readValue(d *json.Decoder, nodes *int, depth int) (*jsonValue, error) {
	t, err := d.Token()
	if *nodes++; err == nil && (*nodes > foldNodes || depth > foldDepth) {
		err = errNoTree
	}
	if err != nil {
		return nil, err
	}
	kind, ok := t.(json.Delim)
	if !ok {
		return &jsonValue{text: scalar(t)}, nil
	}
	v := &jsonValue{kind: kind}
	for d.More() {
		name := ""
		if kind == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ = t.(string)
		}
		m, err := readValue(d, nodes, depth+1)
		if err != nil {
			return nil, err
		}
		m.name = name
		v.members = append(v.members, m)
	}
	if len(v.members) == 0 {
		if v.text = "[]"; kind == '{' {
			v.text = "{}"
		}
	}
	_, err = d.Token()
	return v, err
}

// scalar returns a value without members as text.
func scalar(t json.Token) string {
	switch t := t.(type) {
	case string:
		return `"` + t + `"`
	case nil:
		return "null"
	default:
		return fmt.Sprint(t)
	}
}

// fold adds a value: its name and its text, or a list of its members that folds.
func (w *markdownWriter) fold(v *jsonValue, depth int) {
	if len(v.members) == 0 {
		w.name(v)
		w.text("code", v.text)
		return
	}
	if depth < foldOpen {
		w.open("details open")
	} else {
		w.open("details")
	}
	w.open("summary")
	w.name(v)
	w.put(countOf(v))
	w.close("summary")
	w.open("ul")
	for _, m := range v.members {
		w.open("li")
		w.fold(m, depth+1)
		w.close("li")
	}
	w.WriteString("</ul></details>")
}

// name adds the name of a member.
func (w *markdownWriter) name(v *jsonValue) {
	if v.name != "" {
		w.text("b", v.name)
		w.WriteByte(' ')
	}
}

// countOf describes a value with members.
func countOf(v *jsonValue) string {
	kind := "object"
	if v.kind == '[' {
		kind = "array"
	}
	return fmt.Sprintf("%s of %d", kind, len(v.members))
}
