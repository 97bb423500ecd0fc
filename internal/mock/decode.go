package mock

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// maxFile bounds a script, in bytes.
const maxFile = 1 << 20

// Load reads the file at path. See [Parse].
func Load(path string) (*Config, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load mock: %w", err)
	}
	return Parse(path, src)
}

// Parse reads src, the content of the file at path. If the file is invalid, the error is an
// [yamlfile.Errors] with all problems. It also reads a configuration with its agents below "spec",
// and ignores the rest of it.
func Parse(path string, src []byte) (*Config, error) {
	d := yamlfile.NewScript(path)
	report := func(key, format string, args ...any) { d.Problem(nil, key, format, args...) }
	var f file
	if len(src) > maxFile {
		report("", "the file is larger than %d bytes", maxFile)
	} else {
		d.Decode(src, &f)
	}
	switch {
	case len(d.Problems()) > 0:
	case !f.read:
		report("", "the file is empty; it needs a2a_agents")
	default:
		f.dir = filepath.Dir(path)
		compile(&f.Config, report)
	}
	if len(d.Problems()) > 0 {
		return nil, d.Problems()
	}
	return &f.Config, nil
}

// file is a whole file.
type file struct {
	Config
	read bool // the file is not empty
}

// DecodeNode implements yamlfile.Node.
func (f *file) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	f.read = true
	pairs, ok := d.Pairs(node, key)
	if !ok {
		return
	}
	lines := make(map[string]ast.Node, len(pairs))
	for _, p := range pairs {
		lines[p.Name] = p.Value
	}
	agents, spec := lines["a2a_agents"], lines["spec"]
	switch {
	case key == "" && agents == nil && spec != nil:
		d.Value(spec, reflect.ValueOf(f).Elem(), "spec", "")
	case agents != nil && (key != "" || lines["apiVersion"] != nil):
		d.Value(agents, reflect.ValueOf(&f.Agents).Elem(), yamlfile.Join(key, "a2a_agents"), "")
	default:
		d.Value(node, reflect.ValueOf(&f.Config).Elem(), key, "")
	}
}

// short decodes a scalar with set, and any other value into the struct that full points to,
// which must not implement yamlfile.Node.
func short(d *yamlfile.Decoder, node ast.Node, key string, set func(text string), full any) {
	if _, ok := node.(ast.ScalarNode); !ok {
		d.Value(node, reflect.ValueOf(full).Elem(), key, "")
		return
	}
	if text, ok := d.Text(node, key); ok {
		set(text)
	}
}

// DecodeNode implements yamlfile.Node.
func (c *Content) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	type full Content
	short(d, node, key, func(text string) { *c = *Text(text) }, (*full)(c))
}

// DecodeNode implements yamlfile.Node.
func (p *Part) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	type full Part
	short(d, node, key, func(text string) { p.Text = text }, (*full)(p))
}

// DecodeNode implements yamlfile.Node.
func (a *Artifact) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	type full Artifact
	short(d, node, key, func(text string) { a.Parts = Text(text).Parts }, (*full)(a))
}

// DecodeNode implements yamlfile.Node.
func (p *ProtocolError) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	type full ProtocolError
	short(d, node, key, func(text string) { p.Name = text }, (*full)(p))
}

// DecodeNode implements yamlfile.Node.
func (h *HTTP) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	type full HTTP
	if _, ok := node.(ast.ScalarNode); ok {
		d.Value(node, reflect.ValueOf(&h.Status).Elem(), key, `signed:"yes"`)
		return
	}
	d.Value(node, reflect.ValueOf((*full)(h)).Elem(), key, "")
}
