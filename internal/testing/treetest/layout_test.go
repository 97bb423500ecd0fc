package treetest

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxRootFolders    = 16 // deploy has files for operators, and sdk workers in other languages; neither has a package
	maxPublicPackages = 13
)

// An embedder reads the root first, so it contains only the main ideas of Parley.
func TestRootFolders(t *testing.T) {
	t.Parallel()
	if got := rootFolders(load(t).files); len(got) > maxRootFolders {
		t.Errorf("%d folders at the root, want at most %d: %s", len(got), maxRootFolders, strings.Join(got, " "))
	}
}

// rootFolders returns the visible folders of the root.
func rootFolders(files []string) []string {
	folders := map[string]bool{}
	for _, f := range files {
		if first, _, nested := strings.Cut(f, "/"); nested && !strings.HasPrefix(first, ".") {
			folders[first] = true
		}
	}
	return slices.Sorted(maps.Keys(folders))
}

// Each public package is a promise to embedders, so their number is limited; other packages are
// internal.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	if got := publicPackages(load(t).sources); len(got) > maxPublicPackages {
		t.Errorf("%d public packages, want at most %d: %s", len(got), maxPublicPackages, strings.Join(got, " "))
	}
}

func TestPublicPackagesRule(t *testing.T) {
	t.Parallel()
	sources := []*source{
		snippet(t, "a/a.go", "package a\n"), snippet(t, "a/b.go", "package a\n"), snippet(t, "b/a_test.go", "package b\n"),
		snippet(t, "internal/c/c.go", "package c\n"), snippet(t, "a/internal/d/d.go", "package d\n"),
		snippet(t, "cmd/e/e.go", "package main\n"), snippet(t, "examples/f/f.go", "package f\n"), snippet(t, "h.go", "package h\n"),
	}
	mustFind(t, publicPackages(sources), 2)
}

// publicPackages returns the folders whose packages other modules may import.
func publicPackages(sources []*source) []string {
	found := map[string]bool{}
	for _, s := range sources {
		if !s.test && public(s) {
			found[s.dir()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// public reports whether other modules may import the package of s.
func public(s *source) bool {
	parts := strings.Split(s.dir(), "/")
	return s.file.Name.Name != "main" && !slices.Contains(parts, "internal") && parts[0] != "examples" && parts[0] != "cmd"
}

// An embedder cannot write the name of an internal type, so no public package may accept or
// return one, unless an alias in a public package is its name.
func TestNoInternalTypesInPublicPackages(t *testing.T) {
	t.Parallel()
	report(t, leaks(load(t).code()), "define these types in a public package, or mention them by an alias there")
}

func TestLeaksRule(t *testing.T) {
	t.Parallel()
	const imports = "package a\n\nimport \"" + module + "/internal/b\"\nimport c \"" + module + "/internal/d\"\nimport \"" + module + "/e\"\n"
	leaky := imports + `
type A = b.T

type S struct {
	F *b.T
	G []c.T
	H e.T
	h b.T
}

type I interface{ M(x b.T) }

func F(x map[string]c.T) e.T { var y b.T; _ = y; return e.T{} }

func (S) M() (func(b.T), error) { return nil, nil }

func (s) M() b.T { return 0 }

type s struct{ F b.T }

func f(x b.T) {}

var V b.T

var W = b.V
`
	mustFind(t, leaks([]*source{snippet(t, "a/a.go", leaky)}), 6)
	mustFind(t, leaks([]*source{snippet(t, "internal/a/a.go", leaky)}), 0)
}

// apart are packages whose methods have internal types, because the program uses them as well as
// embedders. The types they name for embedders are public.
var apart = map[string]bool{"store/pgstore": true, "store/sqlitestore": true}

// leaks returns the exported declarations of public packages that mention internal types.
func leaks(code []*source) []string {
	var problems []string
	for _, s := range code {
		inner := internalImports(s)
		if apart[s.dir()] || !public(s) || len(inner) == 0 {
			continue
		}
		for _, d := range s.file.Decls {
			for _, n := range exposed(d) {
				problems = append(problems, leaksIn(s, n, inner)...)
			}
		}
	}
	return problems
}

// internalImports returns the names under which s imports internal packages.
func internalImports(s *source) map[string]bool {
	names := map[string]bool{}
	for _, i := range s.file.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		switch {
		case !strings.HasPrefix(p, module+"/") || !strings.Contains(p, "/internal/"):
		case i.Name != nil:
			names[i.Name.Name] = true
		default:
			names[path.Base(p)] = true
		}
	}
	return names
}

// exposed returns the types in the signature of an exported declaration.
func exposed(d ast.Decl) []ast.Node {
	var nodes []ast.Node
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			nodes = append(nodes, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && !spec.Assign.IsValid() {
					nodes = append(nodes, shown(spec.Type)...)
				}
			case *ast.ValueSpec:
				if spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
					nodes = append(nodes, spec.Type)
				}
			}
		}
	}
	return nodes
}

// shown returns the visible parts of a type: the exported fields of a struct, and any other
// type as a whole.
func shown(typ ast.Expr) []ast.Node {
	st, ok := typ.(*ast.StructType)
	if !ok {
		return []ast.Node{typ}
	}
	var nodes []ast.Node
	for _, f := range st.Fields.List {
		if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
			nodes = append(nodes, f.Type)
		}
	}
	return nodes
}

func leaksIn(s *source, n ast.Node, inner map[string]bool) []string {
	var problems []string
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && inner[pkg.Name] {
			problems = append(problems, fmt.Sprintf("%s: %s.%s", s.at(sel.Pos()), pkg.Name, sel.Sel.Name))
		}
		return false
	})
	return problems
}

// internal/README.md ("Shape") lists each package, or the folder that it is in.
func TestShape(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, shape(tr.code(), tr.read(t, "internal/README.md")), "list each package in internal/README.md, and no other")
}

func TestShapeRule(t *testing.T) {
	t.Parallel()
	code := []*source{snippet(t, "a/a.go", "package a\n"), snippet(t, "internal/testing/b/b.go", "package b\n"), snippet(t, "internal/c/c.go", "package c\n")}
	const doc = "## Shape\n```\nparley (root)  x\na    x\ninternal/testing    x\n\ngone   x\n```\n"
	mustFind(t, shape(code, doc), 2)
}

// shape returns the folders with code that the page does not list, and the listed ones without
// code.
func shape(code []*source, doc string) []string {
	_, table, _ := strings.Cut(doc, "parley (root)")
	table, _, _ = strings.Cut(table, "```")
	listed, found := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(table) {
		if name, _, ok := strings.Cut(line, "  "); ok && name != "" {
			listed[name] = true
		}
	}
	for _, s := range code {
		found[listedAs(s.dir())] = true
	}
	delete(found, "") // the root, cmd/bench and examples
	var problems []string
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		if !listed[dir] {
			problems = append(problems, dir+" is not listed")
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(listed)) {
		if !found[dir] {
			problems = append(problems, dir+" has no code")
		}
	}
	return problems
}

// listedAs returns the folder under which the page lists a package, "" for none.
func listedAs(dir string) string {
	for _, group := range []string{"internal/testing/suite", "internal/testing", "internal/e2e", "internal/parts"} {
		if dir == group || strings.HasPrefix(dir, group+"/") {
			return group
		}
	}
	for _, apart := range []string{"cmd/bench", "examples"} {
		if dir == apart || strings.HasPrefix(dir, apart+"/") {
			return ""
		}
	}
	if dir == "." {
		return ""
	}
	return dir
}
