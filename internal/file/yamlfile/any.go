package yamlfile

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// Any is a value of any type: nil, a bool, an int64, a float64, a string, a []any or a
// map[string]any. Variables in texts are expanded.
type Any struct{ V any }

// DecodeNode implements Node.
func (a *Any) DecodeNode(d *Decoder, node ast.Node, key string) { a.V = d.any(node, key) }

// any decodes a node of any type.
func (d *Decoder) any(node ast.Node, key string) (v any) {
	d.depth++
	defer func() { d.depth-- }()
	switch {
	case !d.count(node, key):
		return nil
	case d.depth > maxDepth:
		d.Problem(node, key, "the file is nested too deep")
		return nil
	}
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
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, item := range n.Values {
			list[i] = d.any(item, key+"["+strconv.Itoa(i)+"]")
		}
		return list
	case ast.MapNode:
		pairs, _ := d.Pairs(node, key)
		return d.object(pairs, key)
	}
	if d.script {
		return d.scriptScalar(node, key)
	}
	return d.anyScalar(node, key)
}

// object decodes the lines of an untyped mapping.
func (d *Decoder) object(pairs []Pair, key string) map[string]any {
	object := make(map[string]any, len(pairs))
	for _, p := range pairs {
		if _, twice := object[p.Name]; twice {
			d.Problem(p.At, Join(key, p.Name), "appears twice")
			continue
		}
		object[p.Name] = d.any(p.Value, Join(key, p.Name))
	}
	return object
}

// anyScalar decodes a number, or a text with its variables expanded.
func (d *Decoder) anyScalar(node ast.Node, key string) any {
	switch n := node.(type) {
	case *ast.IntegerNode:
		i, err := strconv.ParseInt(n.GetToken().Value, 0, 64)
		if err != nil {
			d.Problem(node, key, "is not a 64-bit number")
		}
		return i
	case *ast.FloatNode:
		return n.Value
	}
	text, _ := d.Text(node, key)
	return text
}

// scriptScalar decodes a number or a text as JSON.
func (d *Decoder) scriptScalar(node ast.Node, key string) any {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return jsonNumber(n.GetToken().Value, n.Value)
	case *ast.FloatNode:
		return jsonNumber(n.GetToken().Value, n.Value)
	case *ast.InfinityNode, *ast.NanNode:
		d.Problem(node, "", "%s cannot be represented in JSON", node)
		return nil
	}
	text, _ := d.Text(node, key)
	return text
}

// jsonNumber keeps the digits of a number if they are valid JSON.
func jsonNumber(text string, value any) json.Number {
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	return json.Number(fmt.Sprint(value))
}
