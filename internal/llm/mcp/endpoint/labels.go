package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// labels labels the texts of a task of the agent author.
type labels struct {
	guard  guard.Guard
	author guard.Origin
}

// task returns the JSON of a task with all texts of the agent and of the caller labelled. It
// remains the JSON of a task. Data becomes a labelled text, and so do those members of metadata
// that are neither numbers nor flags nor names, under the name "quoted".
func (l labels) task(body []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the brackets of labels are for the model
	err := e.Encode(l.value("", v))
	return bytes.TrimSpace(b.Bytes()), err
}

// value returns a value of a member with that name.
func (l labels) value(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return l.object(name, v)
	case []any:
		for i := range v {
			v[i] = l.value(name, v[i])
		}
		return v
	case string:
		if v == "" || outside(name, v) {
			return v
		}
		if name == "raw" {
			return "" // a label is no base64
		}
		return l.quote(v)
	}
	return v
}

func (l labels) object(name string, object map[string]any) any {
	if name == "metadata" {
		return l.metadata(object)
	}
	if role, _ := object["role"].(string); strings.HasSuffix(strings.ToLower(role), "user") {
		l.author = guard.Caller
	}
	for k, v := range object {
		if k == "data" {
			object[k] = l.json(v)
			continue
		}
		object[k] = l.value(k, v)
	}
	return object
}

// metadata returns metadata whose texts are one labelled member.
func (l labels) metadata(m map[string]any) map[string]any {
	rest := hubtools.NotPlain(m)
	if len(rest) == 0 {
		return m
	}
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(k string, _ any) bool { _, gone := rest[k]; return gone })
	m["quoted"] = l.json(rest)
	return m
}

// identifiers are the members of a task whose values must be repeated exactly.
var identifiers = strings.Fields(`id contextId taskId messageId artifactId kind state role timestamp filename
	referenceTaskIds extensions`)

// outside reports whether a text may stand outside of a label.
func outside(name, text string) bool {
	switch {
	case name == "mediaType":
		return hubtools.MediaType(&a2a.Part{MediaType: text}) == text
	case name == "url":
		return guard.IsAddress(text)
	case name == "raw":
		return !guard.Grave(guard.Screen(strings.NewReplacer("/", " ", "+", " ").Replace(text)))
	}
	return slices.Contains(identifiers, name) && guard.IsName(text)
}

func (l labels) quote(text string) string { return l.guard.Quote(l.author, text).Text }

// json returns a value as labelled JSON.
func (l labels) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(not readable: %T)", v)
	}
	return l.quote(string(b))
}

// parts returns the parts of an artifact: texts and data as labelled texts, and the files.
func (l labels) parts(parts []*a2a.Part) []*a2a.Part {
	var texts []*a2a.Part
	for _, p := range parts {
		switch c := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, textPart(l.quote(string(c)), "text/plain"))
		case a2a.Data:
			texts = append(texts, textPart(l.json(c.Value), "text/plain"))
		}
	}
	return append(texts, hubtools.Files(l.guard, l.author, parts)...)
}
