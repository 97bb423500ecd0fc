package yamlfile

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Any is a value of any shape: nil, a bool, an int64, a float64, a string, a []any or a
// map[string]any. Texts have their variables put in.
type Any struct{ V any }

// DecodeNode implements Node.
func (a *Any) DecodeNode(d *Decoder, node ast.Node, key string) { a.V = d.any(node, key) }

// any decodes a node of any shape.
func (d *Decoder) any(node ast.Node, key string) (v any) {
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.AnchorNode:
		return d.any(n.Value, key)
	case *ast.AliasNode:
		d.Alias(n, func(target ast.Node) { v = d.any(target, key) })
		return v
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		i, err := strconv.ParseInt(n.GetToken().Value, 0, 64)
		if err != nil {
			d.Problem(node, key, "is no number of 64 bits")
		}
		return i
	case *ast.FloatNode:
		return n.Value
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			list[i] = d.any(item, key+"["+strconv.Itoa(i)+"]")
		}
		return list
	case ast.MapNode:
		pairs, _ := d.Pairs(node, key)
		object := make(map[string]any, len(pairs))
		for _, p := range pairs {
			object[p.Name] = d.any(p.Value, Join(key, p.Name))
		}
		return object
	}
	text, _ := d.Text(node, key)
	return text
}
