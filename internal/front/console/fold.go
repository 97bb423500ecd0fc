package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

const (
	// foldNodes is how many values a tree of JSON may have, and foldDepth how deep it may be; other
	// values are shown as text.
	foldNodes = 1500
	foldDepth = 24
	// foldNode is about the length of the elements of a value.
	foldNode = 60
	// foldOpen is the depth to which a tree is open, and foldSmall the length of text that needs none.
	foldOpen  = 2
	foldSmall = 160
)

var errNoTree = errors.New("too large for a tree")

// jsonValue is a value of JSON with its members in their order, for the template "fold".
type jsonValue struct {
	Name    string // of a member; empty in arrays
	Text    string // of a value without members
	Kind    string // "object" or "array" for one with members
	Open    bool
	Members []*jsonValue
}

// folded returns JSON as a tree that folds, or nil for a value that is short, too large or no JSON. size
// is about the length of its elements.
func folded(b []byte) (v *jsonValue, size int) {
	if len(b) <= foldSmall || len(b) > maxText {
		return nil, 0
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	nodes := 0
	v, err := readValue(d, &nodes, 0)
	if err != nil || len(v.Members) == 0 || d.More() {
		return nil, 0
	}
	return v, len(b) + nodes*foldNode
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
		return &jsonValue{Text: scalar(t)}, nil
	}
	v := &jsonValue{Kind: "array", Open: depth < foldOpen}
	if kind == '{' {
		v.Kind = "object"
	}
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
		m.Name = name
		v.Members = append(v.Members, m)
	}
	if len(v.Members) == 0 {
		if v.Text = "[]"; kind == '{' {
			v.Text = "{}"
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
