package yamlfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/parley-a2a/parley/internal/file/textfile"
)

const (
	// maxNodes bounds the number of nodes of a file with its aliases expanded.
	maxNodes = 100_000
	// maxDepth bounds the nesting of an untyped value.
	maxDepth = 64
)

// Decoder fills structs from the nodes of a file and collects its problems. It decodes nodes,
// not values, so that each problem has its line and key.
type Decoder struct {
	file     string
	from     sources
	folder   string // base of relative paths; empty if paths are unchanged
	script   bool   // set by NewScript
	problems Errors
	lines    map[string]int // the line of each key in the file
	anchors  map[string]ast.Node
	aliases  []string // those being resolved
	nodes    int
	depth    int          // of an untyped value
	root     reflect.Type // of the whole file, if it is a mapping
	// absent explains an unknown key; see ExplainAbsent.
	absent func(key string) string
}

// New returns a Decoder of the file at path. lookup returns the values of variables.
func New(path string, lookup func(string) (string, bool)) *Decoder {
	return &Decoder{file: path, from: sources{lookup: lookup}, lines: make(map[string]int)}
}

// NewScript returns a Decoder of the file at path, which is a script for a program under test.
// It differs from that of New:
//
//   - Texts have no variables: a dollar sign is literal.
//   - A key is also accepted in camelCase.
//   - The problem of an unknown key lists the possible ones if none of them is similar.
//   - Untyped values are JSON: their numbers keep their digits as json.Number.
func NewScript(path string) *Decoder {
	return &Decoder{file: path, script: true, lines: make(map[string]int)}
}

// Node is a type that decodes itself.
type Node interface {
	// DecodeNode decodes the node at key, or reports a problem to d.
	DecodeNode(d *Decoder, node ast.Node, key string)
}

// Scalar is a type that parses the text of a scalar.
type Scalar interface {
	// SetText parses text, whose variables have been expanded; tag is the tag of the field. The
	// error describes the problem of the text.
	SetText(text string, tag reflect.StructTag) error
}

// Extended is a struct to which others add keys.
type Extended interface {
	// Extensions returns pointers to the structs with the added keys.
	Extensions() []any
}

// ExplainAbsent sets a function that returns the problem of a key that the file does not have, such
// as "agents[2].url", instead of the usual one; the empty text means the usual one.
func (d *Decoder) ExplainAbsent(explain func(key string) string) { d.absent = explain }

// Problems returns the problems of the file so far; nil if there are none.
func (d *Decoder) Problems() Errors { return d.problems }

// Line returns the line number of a key, 0 if the file does not have it.
func (d *Decoder) Line(key string) int { return d.lines[key] }

// Where returns the position of a key or its closest parent, such as "agents.yaml:12".
func (d *Decoder) Where(key string) string {
	for at := key; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if line := d.lines[at]; line > 0 {
			return fmt.Sprintf("%s:%d", filepath.Base(d.file), line)
		}
	}
	return filepath.Base(d.file)
}

// Mark records the position of a key.
func (d *Decoder) Mark(key string, node ast.Node) { d.lines[key] = LineOf(node) }

// ReadFiles makes the Decoder replace ${file:PATH} with the result of read. Without it such a
// text is a problem: the permission to write a decoded file must not allow reading all files.
func (d *Decoder) ReadFiles(read func(path string) (string, error)) { d.from.read = read }

// PathsFrom makes folder the base of relative paths, in fields with the tag path and in lists
// of such texts. Without it, paths are unchanged.
func (d *Decoder) PathsFrom(folder string) { d.folder = folder }

// Path returns a path relative to the folder of PathsFrom. The empty path stays empty.
func (d *Decoder) Path(path string) string {
	if path == "" || d.folder == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.folder, path)
}

// Expand replaces the variables and file references in a text.
func (d *Decoder) Expand(text string) (string, error) {
	if d.script {
		return text, nil
	}
	return interpolate(text, d.from)
}

// Problem records a problem of key. If node is nil, the line is that of the key, or of its
// closest parent.
func (d *Decoder) Problem(node ast.Node, key, format string, args ...any) {
	e := &Error{File: d.file, Key: key, Problem: fmt.Sprintf(format, args...)}
	if node != nil {
		e.Line = LineOf(node)
	}
	for at := key; e.Line == 0 && at != ""; {
		e.Line = d.lines[at]
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	d.problems = append(d.problems, e)
}

// LineOf returns the line number of a node, 0 if it has none.
func LineOf(node ast.Node) int {
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return LineOf(m.Values[0].Key)
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// Decode decodes src, a single document, into the value that v points to. An empty document
// changes nothing.
func (d *Decoder) Decode(src []byte, v any) {
	src, err := textfile.UTF8(src)
	if err != nil {
		e := &Error{File: d.file, Problem: err.Error()}
		if at, ok := errors.AsType[*textfile.EncodingError](err); ok {
			e.Line, e.Problem = at.Line, at.Problem()
		}
		d.problems = append(d.problems, e)
		return
	}
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(src, err)
		return
	}
	docs := file.Docs
	for len(docs) > 1 && docs[len(docs)-1].Body == nil {
		docs = docs[:len(docs)-1]
	}
	switch {
	case len(docs) == 0 || docs[0].Body == nil:
	case len(docs) > 1:
		d.Problem(docs[1].Body, "", "a file must hold one document; a second one begins here")
	default:
		d.anchors = make(map[string]ast.Node)
		ast.Walk(anchorVisitor(d.anchors), docs[0].Body)
		d.Value(docs[0].Body, reflect.ValueOf(v).Elem(), "", "")
	}
}

// reference matches the beginning of a reference to a variable or a file.
var reference = regexp.MustCompile(`\$\{(\w+:?)`)

// syntax records the parser's error about src.
func (d *Decoder) syntax(src []byte, err error) {
	e := &Error{File: d.file, Problem: err.Error()}
	var at yaml.Error
	if errors.As(err, &at) {
		e.Problem = at.GetMessage()
		if t := at.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	if lines := strings.Split(string(src), "\n"); !d.script && e.Line > 0 && e.Line <= len(lines) {
		if name := reference.FindStringSubmatch(lines[e.Line-1]); name != nil {
			e.Problem += fmt.Sprintf("; between { } or [ ], a value with ${%s} must be in quotes", strings.Replace(name[1], ":", "…", 1))
		}
	}
	d.problems = append(d.problems, e)
}

// anchorVisitor collects the anchors of aliases.
type anchorVisitor map[string]ast.Node

// Visit implements ast.Visitor.
func (v anchorVisitor) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		v[a.Name.GetToken().Value] = a.Value
	}
	return v
}

// Value decodes node into v. tag is the tag of the field.
func (d *Decoder) Value(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if !d.count(node, key) {
		return
	}
	if key != "" && d.lines[key] == 0 {
		d.lines[key] = LineOf(node)
	}
	switch n := node.(type) {
	case *ast.NullNode:
		if v.Kind() == reflect.Interface {
			d.Problem(node, key, "must be a value other than null")
		}
	case *ast.AnchorNode:
		d.Value(n.Value, v, key, tag)
	case *ast.AliasNode:
		d.Alias(n, func(target ast.Node) { d.Value(target, v, key, tag) })
	case *ast.TagNode:
		d.tagged(n, key)
	default:
		d.plain(node, v, key, tag)
	}
}

// count counts a node. It returns false above the limit, and records one problem then.
func (d *Decoder) count(node ast.Node, key string) bool {
	d.nodes++
	if d.nodes == maxNodes+1 {
		d.Problem(node, key, "the file is too large")
	}
	return d.nodes <= maxNodes
}

// tagged records the problem of a tag without its text, which may be a secret key that begins
// with an exclamation mark.
func (d *Decoder) tagged(node *ast.TagNode, key string) {
	d.Problem(node, key, "tags are not used here; put a text that begins with ! in quotes")
}

// Alias calls follow with the node that n refers to.
func (d *Decoder) Alias(n *ast.AliasNode, follow func(ast.Node)) {
	name := n.Value.GetToken().Value
	target, ok := d.anchors[name]
	if !ok {
		d.Problem(n, "", "there is no anchor &%s", name)
		return
	}
	for _, a := range d.aliases {
		if a == name {
			d.Problem(n, "", "alias *%s refers to itself", name)
			return
		}
	}
	d.aliases = append(d.aliases, name)
	follow(target)
	d.aliases = d.aliases[:len(d.aliases)-1]
}

// plain decodes a node that is neither an alias nor a tag.
func (d *Decoder) plain(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch p := v.Addr().Interface().(type) {
	case Node:
		p.DecodeNode(d, node, key)
		return
	case Scalar:
		d.scalar(node, v, key, tag)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(node, v, key)
	case reflect.Slice:
		d.list(node, v, key, reflect.StructTag(`enum:"`+tag.Get("each")+`" path:"`+tag.Get("path")+`"`))
	case reflect.Map:
		d.table(node, v, key)
	case reflect.Interface:
		if value := d.any(node, key); value != nil { // nil means that a problem was recorded
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.scalar(node, v, key, tag)
	}
}

// scalar decodes a text, a number or a boolean.
func (d *Decoder) scalar(node ast.Node, v reflect.Value, key string, tag reflect.StructTag) {
	text, ok := d.Text(node, key)
	if !ok {
		return
	}
	if tag.Get("path") != "" {
		text = d.Path(text)
	}
	if err := setScalar(v, text, tag); err != nil {
		d.Problem(node, key, "%s", err.Error())
	}
}

// Text returns the text of a scalar with its variables expanded.
func (d *Decoder) Text(node ast.Node, key string) (string, bool) {
	var text string
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = node.GetToken().Value
	case *ast.TagNode:
		d.tagged(n, key)
		return "", false
	default:
		d.Problem(node, key, "must be a single value, not %s", kindName(node))
		return "", false
	}
	text, err := d.Expand(text)
	if err != nil {
		d.Problem(node, key, "%s", err.Error())
		return "", false
	}
	return text, true
}

// List decodes a sequence into a slice.
func (d *Decoder) List(node ast.Node, v reflect.Value, key string) { d.list(node, v, key, "") }

// list is List; item is the tag of each item.
func (d *Decoder) list(node ast.Node, v reflect.Value, key string, item reflect.StructTag) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.Problem(node, key, "must be a list, not %s", kindName(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values)))
	for i, value := range seq.Values {
		d.Value(value, v.Index(i), key+"["+strconv.Itoa(i)+"]", item)
	}
}

// table decodes a mapping with arbitrary keys.
func (d *Decoder) table(node ast.Node, v reflect.Value, key string) {
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.object(pairs, key)))
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		if v.MapIndex(reflect.ValueOf(p.Name)).IsValid() {
			d.Problem(p.At, Join(key, p.Name), "appears twice")
			continue
		}
		d.Mark(Join(key, p.Name), p.At)
		item := reflect.New(v.Type().Elem()).Elem()
		d.Value(p.Value, item, Join(key, p.Name), "")
		v.SetMapIndex(reflect.ValueOf(p.Name), item)
	}
}

// fields decodes a mapping into a struct.
func (d *Decoder) fields(node ast.Node, v reflect.Value, key string) {
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	known, structs := keyedFields(v)
	seen := make(map[string]bool)
	if key == "" {
		d.root = v.Type()
	}
	for _, p := range pairs {
		at := Join(key, p.Name)
		f, ok := d.find(known, p.Name)
		if !ok {
			d.unknown(p.At, at, known, p.Name)
			continue
		}
		name := f.Tag.Get("yaml")
		if seen[name] {
			d.Problem(p.At, at, "appears twice")
			continue
		}
		seen[name] = true
		d.Mark(at, p.At)
		d.Value(p.Value, structs[name].FieldByIndex(f.Index), at, f.Tag)
	}
}

// unknown records the problem of a key that is not one of known.
func (d *Decoder) unknown(node ast.Node, key string, known Fields, name string) {
	if d.absent != nil {
		if problem := d.absent(key); problem != "" {
			d.Problem(node, key, "%s", problem)
			return
		}
	}
	d.Problem(node, key, "unknown key%s", d.suggest(known, name))
}

// Pair is one line of a mapping.
type Pair struct {
	Name  string
	At    ast.Node // the key
	Value ast.Node
}

// Pairs returns the lines of a mapping. Lines merged with << are last and do not replace
// existing ones.
func (d *Decoder) Pairs(node ast.Node, key string) ([]Pair, bool) {
	m, ok := node.(ast.MapNode)
	if !ok {
		d.Problem(node, key, "must be a mapping of keys to values, not %s", kindName(node))
		return nil, false
	}
	var pairs, merged []Pair
	for it := m.MapRange(); it.Next(); {
		if it.Key().IsMergeKey() {
			merged = append(merged, d.merged(it.Value(), key)...)
			continue
		}
		pairs = append(pairs, Pair{it.Key().GetToken().Value, it.Key(), it.Value()})
	}
	for _, p := range merged {
		if !has(pairs, p.Name) {
			pairs = append(pairs, p)
		}
	}
	return pairs, true
}

// merged returns the lines that a merge key adds.
func (d *Decoder) merged(node ast.Node, key string) []Pair {
	var pairs []Pair
	switch n := node.(type) {
	case *ast.AliasNode:
		d.Alias(n, func(target ast.Node) { pairs, _ = d.Pairs(target, key) })
		return pairs
	case ast.MapNode:
		pairs, _ = d.Pairs(node, key)
		return pairs
	}
	d.Problem(node, key, "<< must be followed by an alias")
	return nil
}

func has(pairs []Pair, name string) bool {
	for _, p := range pairs {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Join returns the key of a member.
func Join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// kindName returns the name of a node's kind for a message.
func kindName(node ast.Node) string {
	switch node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a mapping"
	}
	return fmt.Sprintf("%q", Clip(node.String()))
}
