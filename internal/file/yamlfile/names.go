package yamlfile

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// Names is a list of texts, or a single text.
type Names []string

// DecodeNode implements Node.
func (n *Names) DecodeNode(d *Decoder, node ast.Node, key string) {
	if _, ok := node.(*ast.SequenceNode); ok {
		d.List(node, reflect.ValueOf(n).Elem(), key)
		return
	}
	if text, ok := d.Text(node, key); ok {
		*n = Names{text}
	}
}
