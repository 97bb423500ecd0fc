package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	// maxFile bounds a script, in bytes.
	maxFile = 1 << 20
	// maxNodes bounds how much it may be, with its aliases put in.
	maxNodes = 100_000
	// maxDepth bounds how deep it may be nested.
	maxDepth = 64
)

// node is a part of a YAML file with everything put in where it belongs.
type node struct {
	line int
	// One of these; all are zero if the value is null.
	scalar *scalar
	items  []*node
	pairs  []pair
	kind   kind
}

type kind uint8

const (
	null kind = iota
	single
	list
	mapping
)

func (n *node) String() string {
	switch n.kind {
	case null:
		return "nothing"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	default:
		return fmt.Sprintf("%q", clip(n.scalar.text))
	}
}

// scalar is a single value: its text, and what JSON makes of it.
type scalar struct {
	text  string
	value any // string, json.Number or bool
}

// pair is one line of a mapping.
type pair struct {
	name  string
	line  int
	value *node
}

// problemAt is a problem that has a line and no key yet.
type problemAt struct {
	line int
	text string
}

func (p *problemAt) Error() string { return p.text }

// parseTree parses the only document of src; nil if there is none. The error is a
// *problemAt.
func parseTree(src []byte) (*node, error) {
	if len(src) > maxFile {
		return nil, &problemAt{text: fmt.Sprintf("the file is larger than %d bytes", maxFile)}
	}
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntax(err)
	}
	docs := file.Docs
	for len(docs) > 1 && docs[len(docs)-1].Body == nil {
		docs = docs[:len(docs)-1]
	}
	switch {
	case len(docs) == 0 || docs[0].Body == nil:
		return nil, nil
	case len(docs) > 1:
		return nil, &problemAt{lineOf(docs[1].Body), "a file holds one document, here a second one begins"}
	}
	g := &grower{anchors: make(map[string]ast.Node)}
	ast.Walk(anchors(g.anchors), docs[0].Body)
	return g.grow(docs[0].Body)
}

func syntax(err error) error {
	p := &problemAt{text: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) {
		p.text = at.GetMessage()
		if t := at.GetToken(); t != nil && t.Position != nil {
			p.line = t.Position.Line
		}
	}
	return p
}

// anchors collects what aliases may refer to.
type anchors map[string]ast.Node

// Visit implements ast.Visitor.
func (v anchors) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		v[a.Name.GetToken().Value] = a.Value
	}
	return v
}

// grower makes nodes of the parser's.
type grower struct {
	anchors map[string]ast.Node
	nodes   int
	depth   int
}

func (g *grower) grow(n ast.Node) (*node, error) {
	g.nodes++
	g.depth++
	defer func() { g.depth-- }()
	switch {
	case g.nodes > maxNodes:
		return nil, &problemAt{lineOf(n), "the file is too large"}
	case g.depth > maxDepth:
		return nil, &problemAt{lineOf(n), "the file is nested too deep, or an alias refers to itself"}
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return &node{line: lineOf(n)}, nil
	case *ast.AnchorNode:
		return g.grow(n.Value)
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		target, ok := g.anchors[name]
		if !ok {
			return nil, &problemAt{lineOf(n), fmt.Sprintf("there is no anchor &%s", name)}
		}
		return g.grow(target)
	case *ast.SequenceNode:
		return g.list(n)
	case ast.MapNode:
		return g.mapping(n, lineOf(n.(ast.Node)))
	default:
		return grownScalar(n)
	}
}

func (g *grower) list(n *ast.SequenceNode) (*node, error) {
	out := &node{line: lineOf(n), kind: list, items: make([]*node, 0, len(n.Values))}
	for _, v := range n.Values {
		item, err := g.grow(v)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
	return out, nil
}

// mapping takes what is merged in with << last, and it does not replace what is there.
func (g *grower) mapping(n ast.MapNode, line int) (*node, error) {
	out := &node{line: line, kind: mapping}
	var merged []pair
	for it := n.MapRange(); it.Next(); {
		value, err := g.grow(it.Value())
		if err != nil {
			return nil, err
		}
		p := pair{it.Key().GetToken().Value, lineOf(it.Key()), value}
		switch {
		case out.find(p.name) != nil:
			return nil, &problemAt{p.line, fmt.Sprintf("%s is given twice", clip(p.name))}
		case it.Key().IsMergeKey() && value.kind != mapping:
			return nil, &problemAt{p.line, "<< must be followed by an alias of a mapping"}
		case it.Key().IsMergeKey():
			merged = append(merged, value.pairs...)
		default:
			out.pairs = append(out.pairs, p)
		}
	}
	for _, p := range merged {
		if out.find(p.name) == nil {
			out.pairs = append(out.pairs, p)
		}
	}
	return out, nil
}

// find returns the value of a key, or nil.
func (n *node) find(name string) *node {
	for _, p := range n.pairs {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

func grownScalar(n ast.Node) (*node, error) {
	s := &scalar{}
	switch n := n.(type) {
	case *ast.StringNode:
		s.text, s.value = n.Value, n.Value
	case *ast.LiteralNode:
		s.text, s.value = n.Value.Value, n.Value.Value
	case *ast.BoolNode:
		s.text, s.value = n.GetToken().Value, n.Value
	case *ast.IntegerNode:
		s.text, s.value = n.GetToken().Value, number(n.GetToken().Value, n.Value)
	case *ast.FloatNode:
		s.text, s.value = n.GetToken().Value, number(n.GetToken().Value, n.Value)
	case *ast.TagNode:
		return nil, &problemAt{lineOf(n), "tags are not used here; put a text that begins with ! in quotes"}
	default:
		return nil, &problemAt{lineOf(n), fmt.Sprintf("%s has no place in JSON", clip(n.String()))}
	}
	return &node{line: lineOf(n), kind: single, scalar: s}, nil
}

// number keeps the digits of a number if JSON writes it in the same way.
func number(text string, value any) any {
	if json.Valid([]byte(text)) {
		return json.Number(text)
	}
	return json.Number(fmt.Sprint(value))
}

// plain returns the node as a JSON value.
func (n *node) plain() any {
	switch n.kind {
	case single:
		return n.scalar.value
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			out[p.name] = p.value.plain()
		}
		return out
	default:
		return nil
	}
}

func lineOf(n ast.Node) int {
	if n == nil {
		return 0
	}
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return lineOf(m.Values[0].Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// clip shortens s for a message.
func clip(s string) string {
	const most = 60
	s = strings.TrimSpace(s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
