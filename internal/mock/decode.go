package mock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Load reads the file at path. See [Parse].
func Load(path string) (*Config, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load mock: %w", err)
	}
	return Parse(path, src)
}

// Parse reads src, which came from the file at path. If the file is at fault, the
// error is an [Errors] with all problems. A PromptKit configuration that has its
// agents below "spec" is read, too; the rest of it is passed over.
func Parse(path string, src []byte) (*Config, error) {
	c := &Config{dir: filepath.Dir(path)}
	d := &decoder{file: path, lines: make(map[string]int)}
	root, err := parseTree(src)
	var at *problemAt
	switch {
	case errors.As(err, &at):
		d.problem(at.line, "", "%s", at.text)
	case root == nil:
		d.problem(0, "", "the file is empty; it needs a2a_agents")
	default:
		d.root(root, c)
	}
	if len(d.problems) == 0 {
		compile(c, func(key, format string, args ...any) { d.problem(0, key, format, args...) })
	}
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	return c, nil
}

// decoder fills structs from nodes and collects problems.
type decoder struct {
	file     string
	problems Errors
	lines    map[string]int // where each key that was given stands
}

// problem notes what is wrong with key. Without a line it is that of the key, or of the
// nearest one around it.
func (d *decoder) problem(line int, key, format string, args ...any) {
	for at := key; line == 0 && at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		line = d.lines[at]
	}
	d.problems = append(d.problems, &Error{File: d.file, Line: line, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// root decodes the whole file.
func (d *decoder) root(n *node, c *Config) {
	v, key := reflect.ValueOf(c).Elem(), ""
	if spec := n.find("spec"); spec != nil && n.find("a2a_agents") == nil {
		n, key = spec, "spec"
	}
	if agents := n.find("a2a_agents"); agents != nil && (key != "" || n.find("apiVersion") != nil) {
		n = &node{line: n.line, kind: mapping, pairs: []pair{{"a2a_agents", agents.line, agents}}}
	}
	d.value(n, v, key, "")
}

// value decodes n into v. tag is the tag of the field.
func (d *decoder) value(n *node, v reflect.Value, key string, tag reflect.StructTag) {
	if d.lines[key] == 0 {
		d.lines[key] = n.line
	}
	if v.Kind() == reflect.Interface {
		if n.kind == null {
			d.problem(n.line, key, "must be a value other than null")
			return
		}
		v.Set(reflect.ValueOf(n.plain()))
		return
	}
	if n.kind == null {
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		d.object(n, v, key)
	case reflect.Slice:
		d.list(n, v, key, tag)
	case reflect.Map:
		d.table(n, v, key)
	default:
		d.scalar(n, v, key, tag)
	}
}

// list decodes a sequence into a slice.
func (d *decoder) list(n *node, v reflect.Value, key string, tag reflect.StructTag) {
	if n.kind != list {
		d.problem(n.line, key, "must be a list, not %s", n)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	item := reflect.StructTag(`enum:"` + tag.Get("each") + `"`)
	for i, it := range n.items {
		d.value(it, v.Index(i), key+"["+strconv.Itoa(i)+"]", item)
	}
}

// table decodes a mapping with keys of the user's choice.
func (d *decoder) table(n *node, v reflect.Value, key string) {
	if n.kind != mapping {
		d.problem(n.line, key, "must be a mapping of keys to values, not %s", n)
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(n.plain()))
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(n.pairs)))
	for _, p := range n.pairs {
		item := reflect.New(v.Type().Elem()).Elem()
		d.lines[join(key, p.name)] = p.line
		d.value(p.value, item, join(key, p.name), "")
		v.SetMapIndex(reflect.ValueOf(p.name), item)
	}
}

// object decodes a mapping into a struct, or a single value into what it stands for.
func (d *decoder) object(n *node, v reflect.Value, key string) {
	if n.kind == single {
		d.short(n, v, key)
		return
	}
	if n.kind != mapping {
		d.problem(n.line, key, "must be a mapping of keys to values, not %s", n)
		return
	}
	seen := make(map[string]bool)
	for _, p := range n.pairs {
		f, ok := field(v.Type(), p.name)
		switch {
		case !ok:
			d.problem(p.line, join(key, p.name), "there is no such key%s", suggest(v.Type(), p.name))
		case seen[f.Name]:
			d.problem(p.line, join(key, p.name), "is given twice")
		default:
			seen[f.Name] = true
			d.lines[join(key, p.name)] = p.line
			d.value(p.value, v.FieldByIndex(f.Index), join(key, p.name), f.Tag)
		}
	}
}

// short decodes a single value that stands for an object.
func (d *decoder) short(n *node, v reflect.Value, key string) {
	switch p := v.Addr().Interface().(type) {
	case *Content:
		p.Parts = []Part{{Text: n.scalar.text}}
	case *Part:
		p.Text = n.scalar.text
	case *Artifact:
		p.Parts = []Part{{Text: n.scalar.text}}
	case *ProtocolError:
		p.Name = n.scalar.text
	case *HTTP:
		d.scalar(n, reflect.ValueOf(&p.Status).Elem(), key, "")
	default:
		d.problem(n.line, key, "must be a mapping of keys to values, not %s", n)
	}
}

// scalar decodes a text, a number or a duration.
func (d *decoder) scalar(n *node, v reflect.Value, key string, tag reflect.StructTag) {
	if n.kind != single {
		d.problem(n.line, key, "must be a single value, not %s", n)
		return
	}
	text := n.scalar.text
	if v.Type() == reflect.TypeFor[time.Duration]() {
		t, err := time.ParseDuration(text)
		if err != nil || t < 0 || t > 24*time.Hour {
			d.problem(n.line, key, "%q is not a duration like 200ms or 3s, of at most a day", clip(text))
		}
		v.SetInt(int64(t))
		return
	}
	if v.Kind() == reflect.Int {
		i, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			d.problem(n.line, key, "%q is not a whole number", clip(text))
		}
		v.SetInt(i)
		return
	}
	if choices := strings.Split(tag.Get("enum"), ","); tag.Get("enum") != "" && !slices.Contains(choices, text) {
		d.problem(n.line, key, "%q is not one of %s", clip(text), strings.Join(choices, ", "))
		return
	}
	v.SetString(text)
}

// field returns the field that a key names. Keys may be written with underscores or in
// camelCase.
func field(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" && (name == key || camel(name) == key) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// camel is the other spelling of a key.
func camel(key string) string {
	first, rest, ok := strings.Cut(key, "_")
	if !ok || rest == "" {
		return key
	}
	return first + strings.ToUpper(rest[:1]) + camel(rest[1:])
}

// suggest returns a hint at the keys that are possible.
func suggest(t reflect.Type, key string) string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		name := f.Tag.Get("yaml")
		if name == "" {
			continue
		}
		if len(key) > 2 && strings.HasPrefix(name, key[:3]) {
			return "; did you mean " + name + "?"
		}
		keys = append(keys, name)
	}
	return "; possible are " + strings.Join(keys, ", ")
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
