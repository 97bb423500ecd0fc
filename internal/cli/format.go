package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// format are the flags for the form of a result.
type format struct {
	Output string `short:"o" enum:"json,yaml,wide," default:"" placeholder:"FORMAT" help:"Print json, yaml, or wide, which truncates nothing."`
	JSON   bool   `name:"json" hidden:"" help:"The same as -o json."`
}

// data reports whether the result is for a program, not text.
func (f *format) data() bool { return f.JSON || f.Output == "json" || f.yaml() }

func (f *format) yaml() bool { return f.Output == "yaml" }

// wide reports whether texts, times and ids are printed whole.
func (f *format) wide() bool { return f.Output == "wide" }

// encode writes a value as data.
func (f *format) encode(w io.Writer, v any) error {
	if !f.yaml() {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeYAML(w, text)
}

// received writes received JSON as data: indented on a terminal, on one line otherwise, and as YAML if asked for.
func (f *format) received(o *OS, raw []byte) error {
	if f.yaml() {
		return writeYAML(o.Stdout, raw)
	}
	return printRaw(o, raw)
}

// writeYAML writes JSON as a YAML document, with the members of objects in the same order.
func writeYAML(w io.Writer, text []byte) error {
	from := json.NewDecoder(bytes.NewReader(text))
	from.UseNumber()
	doc, err := yamlNode(from)
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	to := yaml.NewEncoder(&b)
	to.SetIndent(2)
	if err := to.Encode(doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// yamlNode returns the next value of a JSON text.
func yamlNode(from *json.Decoder) (*yaml.Node, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	n := new(yaml.Node)
	switch v := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if v == '{' {
			n.Kind = yaml.MappingNode // whose content alternates names and values, as the tokens do
		}
		for from.More() {
			child, err := yamlNode(from)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = from.Token() // the end
	case string:
		n.SetString(v)
		if v == "<<" || strings.TrimLeft(v, " \t\r\n") != v {
			n.Style = yaml.DoubleQuotedStyle // others read it as a merge, or need a hint for the indentation
		}
	case json.Number:
		n.Kind, n.Value = yaml.ScalarNode, v.String()
	default:
		err = n.Encode(v)
	}
	return n, err
}
