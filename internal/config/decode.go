package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxNodes bounds how much a file may be, with its aliases put in.
const maxNodes = 100_000

// decoder fills structs from the nodes of a file and collects its problems. It works
// on the nodes, not on values, so that each problem has its line and key.
type decoder struct {
	file     string
	lookup   func(string) (string, bool)
	problems Errors
	lines    map[string]int // where each key that was given stands
	anchors  map[string]ast.Node
	aliases  []string // those being followed
	nodes    int
}

// problem notes what is wrong with key. If node is nil, the line is that of the key,
// or of the nearest one around it.
func (d *decoder) problem(node ast.Node, key, format string, args ...any) {
	e := &Error{File: d.file, Key: key, Problem: fmt.Sprintf(format, args...)}
	if node != nil {
		e.Line = lineOf(node)
	}
	for at := key; e.Line == 0 && at != ""; {
		e.Line = d.lines[at]
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	d.problems = append(d.problems, e)
}

func lineOf(node ast.Node) int {
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return lineOf(m.Values[0].Key)
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// document decodes src into c.
func (d *decoder) document(src []byte, c *Config) {
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return
	}
	docs := file.Docs
	for len(docs) > 1 && docs[len(docs)-1].Body == nil {
		docs = docs[:len(docs)-1]
	}
	switch {
	case len(docs) == 0 || docs[0].Body == nil:
	case len(docs) > 1:
		d.problem(docs[1].Body, "", "a file holds one document, here a second one begins")
	default:
		d.anchors = make(map[string]ast.Node)
		ast.Walk(anchorVisitor(d.anchors), docs[0].Body)
		d.value(docs[0].Body, reflect.ValueOf(c).Elem(), "", "")
	}
}

// syntax notes what the parser says.
func (d *decoder) syntax(err error) {
	e := &Error{File: d.file, Problem: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) {
		e.Problem = at.GetMessage()
		if t := at.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	d.problems = append(d.problems, e)
}

// anchorVisitor collects what aliases may refer to.
type anchorVisitor map[string]ast.Node

// Visit implements ast.Visitor.
func (v anchorVisitor) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		v[a.Name.GetToken().Value] = a.Value
	}
	return v
}

// value decodes node into v. tag is the tag of the field.
func (d *decoder) value(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.problem(node, key, "the file is too large")
		}
		return
	}
	if key != "" && d.lines[key] == 0 {
		d.lines[key] = lineOf(node)
	}
	switch n := node.(type) {
	case *ast.NullNode:
	case *ast.AnchorNode:
		d.value(n.Value, v, key, tag)
	case *ast.AliasNode:
		d.alias(n, func(target ast.Node) { d.value(target, v, key, tag) })
	case *ast.TagNode:
		// Its text is not told: it may be a key that begins with an exclamation mark.
		d.problem(node, key, "tags are not used here; put a text that begins with ! in quotes")
	default:
		d.plain(node, v, key, tag)
	}
}

// alias calls follow with what n refers to.
func (d *decoder) alias(n *ast.AliasNode, follow func(ast.Node)) {
	name := n.Value.GetToken().Value
	target, ok := d.anchors[name]
	if !ok {
		d.problem(n, "", "there is no anchor &%s", name)
		return
	}
	for _, a := range d.aliases {
		if a == name {
			d.problem(n, "", "alias *%s refers to itself", name)
			return
		}
	}
	d.aliases = append(d.aliases, name)
	follow(target)
	d.aliases = d.aliases[:len(d.aliases)-1]
}

// plain decodes a node that stands for itself.
func (d *decoder) plain(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch p := v.Addr().Interface().(type) {
	case *Command:
		d.command(node, p, key)
		return
	case *Callers:
		d.callers(node, p, key)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(node, v, key)
	case reflect.Slice:
		d.list(node, v, key)
	case reflect.Map:
		d.table(node, v, key)
	default:
		d.scalar(node, v, key, tag)
	}
}

// scalar decodes a text, a number or a switch.
func (d *decoder) scalar(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	text, ok := d.text(node, key)
	if !ok {
		return
	}
	if err := setScalar(v, text, tag); err != nil {
		d.problem(node, key, "%s", err.Error())
	}
}

// text returns the text of a scalar with its variables put in.
func (d *decoder) text(node ast.Node, key string) (string, bool) {
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = node.GetToken().Value
	default:
		d.problem(node, key, "must be a single value, not %s", kindName(node))
		return "", false
	}
	text, err := interpolate(text, d.lookup)
	if err != nil {
		d.problem(node, key, "%s", err.Error())
		return "", false
	}
	return text, true
}

// command decodes a list, or a text for the shell.
func (d *decoder) command(node ast.Node, c *Command, key string) {
	if _, ok := node.(*ast.SequenceNode); ok {
		d.list(node, reflect.ValueOf(c).Elem(), key)
		return
	}
	if text, ok := d.text(node, key); ok && text != "" {
		*c = Command{"/bin/sh", "-c", text}
	}
}

// list decodes a sequence into a slice.
func (d *decoder) list(node ast.Node, v reflect.Value, key string) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.problem(node, key, "must be a list, not %s", kindName(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, item := range seq.Values {
		d.value(item, v.Index(i), key+"["+strconv.Itoa(i)+"]", "")
	}
}

// table decodes a mapping with keys of the user's choice.
func (d *decoder) table(node ast.Node, v reflect.Value, key string) {
	pairs, ok := d.pairs(node, key)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		if v.MapIndex(reflect.ValueOf(p.name)).IsValid() {
			d.problem(p.at, join(key, p.name), "is given twice")
			continue
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, item, join(key, p.name), "")
		v.SetMapIndex(reflect.ValueOf(p.name), item)
	}
}

// object decodes a mapping into a struct.
func (d *decoder) object(node ast.Node, v reflect.Value, key string) {
	pairs, ok := d.pairs(node, key)
	if !ok {
		return
	}
	known, seen := fieldsOf(v.Type()), make(map[string]bool)
	for _, p := range pairs {
		f, ok := known.find(p.name)
		if !ok {
			d.problem(p.at, join(key, p.name), "there is no such key%s", known.suggest(p.name))
			continue
		}
		if seen[p.name] {
			d.problem(p.at, join(key, p.name), "is given twice")
			continue
		}
		seen[p.name] = true
		d.lines[join(key, p.name)] = lineOf(p.at)
		d.value(p.value, v.FieldByIndex(f.Index), join(key, p.name), f.Tag)
	}
}

// pair is one line of a mapping.
type pair struct {
	name  string
	at    ast.Node // the key
	value ast.Node
}

// pairs returns the lines of a mapping. What is merged in with << comes last and
// does not replace what is there.
func (d *decoder) pairs(node ast.Node, key string) ([]pair, bool) {
	m, ok := node.(ast.MapNode)
	if !ok {
		d.problem(node, key, "must be a mapping of keys to values, not %s", kindName(node))
		return nil, false
	}
	var pairs, merged []pair
	for it := m.MapRange(); it.Next(); {
		if it.Key().IsMergeKey() {
			merged = append(merged, d.merged(it.Value(), key)...)
			continue
		}
		pairs = append(pairs, pair{it.Key().GetToken().Value, it.Key(), it.Value()})
	}
	for _, p := range merged {
		if !has(pairs, p.name) {
			pairs = append(pairs, p)
		}
	}
	return pairs, true
}

// merged returns the lines that a merge key brings in.
func (d *decoder) merged(node ast.Node, key string) []pair {
	var pairs []pair
	if a, ok := node.(*ast.AliasNode); ok {
		d.alias(a, func(target ast.Node) { pairs, _ = d.pairs(target, key) })
		return pairs
	}
	d.problem(node, key, "<< must be followed by an alias")
	return nil
}

func has(pairs []pair, name string) bool {
	for _, p := range pairs {
		if p.name == name {
			return true
		}
	}
	return false
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// kindName says what a node is, for a message.
func kindName(node ast.Node) string {
	switch node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a mapping"
	}
	return fmt.Sprintf("%q", clip(node.String()))
}
