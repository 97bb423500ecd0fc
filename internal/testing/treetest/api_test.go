package treetest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "record the exported API, for a release")

// apiFile has the exported API of the last release. It is recorded together with the section of a
// version in the changelog; before the first version there is neither.
const apiFile = "internal/release/api.txt"

// versions matches the section of a version in the changelog.
var versions = regexp.MustCompile(`(?m)^## \[\d`)

// A program of an embedder compiles with the next version, or the changelog names the changes that it must
// change.
func TestAPI(t *testing.T) {
	t.Parallel()
	tr := load(t)
	now, changelog := exported(tr.code()), tr.read(t, "CHANGELOG.md")
	if len(now) < 500 {
		t.Errorf("the public packages export %d names; the rule no longer finds them", len(now))
	}
	if *updateAPI {
		text := strings.Join(slices.Sorted(maps.Keys(now)), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(tr.root, filepath.FromSlash(apiFile)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !versions.MatchString(changelog) {
		return // no version has promised anything
	}
	before := strings.Split(strings.TrimSpace(tr.read(t, apiFile)), "\n")
	if len(before) < 500 {
		t.Fatalf("%s has %d lines; it has lost its content", apiFile, len(before))
	}
	report(t, broken(before, now, changelog), "name in the section Unreleased of CHANGELOG.md, as package.Name or package.Type.Member, what is removed or changed")
}

func TestAPIRule(t *testing.T) {
	t.Parallel()
	sample, err := parse("push/queue/a.go", `package queue

type A struct { F, G int; h string; B }
type I interface { M(ctx context.Context, x int) (err error) }
type L[T any] []T
type private struct { X int }
const C, c = 1, 2
var V = 3
func Do(a, b int, more ...string) error { return nil }
func (a *A) Get() int { return 0 }
func (p private) Get() int { return 0 }
func undone() {}
`)
	if err != nil {
		t.Fatal(err)
	}
	now := exported([]*source{sample})
	want := []string{
		"queue.A struct", "queue.A.B embedded", "queue.A.F int", "queue.A.G int", "queue.A.Get method on *A func() int", "queue.C const",
		"queue.Do func(int, int, ...string) error", "queue.I interface{ M func(context.Context, int) error }", "queue.L[T any] []T", "queue.V var",
	}
	for i, w := range want {
		want[i] = "push/queue " + w
	}
	if got := slices.Sorted(maps.Keys(now)); !slices.Equal(got, want) {
		t.Errorf("the API is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	before := append(slices.Clone(want), "push/queue queue.Gone func()", "push/queue queue.A.Old int", "push/queue queue.Kept func()")
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- Removed: `queue.Kept`.\n\n## [0.1.0]\n\n- Removed: `queue.Gone`.\n"
	mustFind(t, broken(before, now, changelog), 2)
}

// broken returns the lines of an earlier API that no longer hold, and whose names the unreleased
// section of a changelog does not mention.
func broken(before []string, now map[string]bool, changelog string) (problems []string) {
	_, unreleased, _ := strings.Cut(changelog, "## [Unreleased]")
	unreleased, _, _ = strings.Cut(unreleased, "\n## [")
	for _, line := range before {
		name, _, _ := strings.Cut(strings.Fields(line)[1], "[")
		if !now[line] && !strings.Contains(unreleased, "`"+name+"`") {
			problems = append(problems, line)
		}
	}
	return problems
}

// exported returns a line for each exported name of the public packages: its package, its name and
// its type, without the names of parameters.
func exported(sources []*source) map[string]bool {
	lines := map[string]bool{}
	for _, s := range sources {
		if s.test || !public(s) {
			continue
		}
		add := func(name, format string, args ...any) {
			lines[s.dir()+" "+s.file.Name.Name+"."+name+" "+fmt.Sprintf(format, args...)] = true
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exportedFunc(d, add)
			case *ast.GenDecl:
				exportedDecl(d, add)
			}
		}
	}
	return lines
}

type adder = func(name, format string, args ...any)

func exportedFunc(d *ast.FuncDecl, add adder) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		add(d.Name.Name+typeParams(d.Type.TypeParams), "%s", signature(d.Type))
		return
	}
	on := text(d.Recv.List[0].Type)
	receiver, _, _ := strings.Cut(strings.TrimPrefix(on, "*"), "[")
	if ast.IsExported(receiver) {
		add(receiver+"."+d.Name.Name, "method on %s %s", on, signature(d.Type))
	}
}

func exportedDecl(d *ast.GenDecl, add adder) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				exportedType(spec, add)
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if n.IsExported() {
					add(n.Name, "%s", strings.TrimSpace(d.Tok.String()+" "+text(spec.Type)))
				}
			}
		}
	}
}

func exportedType(spec *ast.TypeSpec, add adder) {
	name := spec.Name.Name
	switch u := spec.Type.(type) {
	case *ast.StructType:
		add(name+typeParams(spec.TypeParams), "struct")
		for _, f := range u.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					add(name+"."+n.Name, "%s", text(f.Type))
				}
			}
			if embedded := path.Ext("." + strings.TrimPrefix(text(f.Type), "*")); len(f.Names) == 0 && ast.IsExported(embedded[1:]) {
				add(name+embedded, "embedded")
			}
		}
	case *ast.InterfaceType:
		var methods []string
		for _, f := range u.Methods.List {
			m := text(f.Type)
			if f, ok := f.Type.(*ast.FuncType); ok {
				m = signature(f)
			}
			if len(f.Names) > 0 {
				m = f.Names[0].Name + " " + m
			}
			methods = append(methods, m)
		}
		slices.Sort(methods)
		add(name+typeParams(spec.TypeParams), "interface{ %s }", strings.Join(methods, "; "))
	default:
		equals := ""
		if spec.Assign != token.NoPos {
			equals = "= "
		}
		add(name+typeParams(spec.TypeParams), "%s%s", equals, text(spec.Type))
	}
}

// signature returns the types of parameters and results.
func signature(f *ast.FuncType) string {
	results := types(f.Results)
	out := strings.Join(results, ", ")
	if len(results) > 1 {
		out = "(" + out + ")"
	}
	return strings.TrimSpace("func(" + strings.Join(types(f.Params), ", ") + ") " + out)
}

func types(l *ast.FieldList) (all []string) {
	if l == nil {
		return nil
	}
	for _, f := range l.List {
		for range max(1, len(f.Names)) {
			all = append(all, text(f.Type))
		}
	}
	return all
}

func typeParams(l *ast.FieldList) string {
	if l == nil {
		return ""
	}
	var all []string
	for _, f := range l.List {
		for _, n := range f.Names {
			all = append(all, n.Name+" "+text(f.Type))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// text returns an expression in one line.
func text(e ast.Expr) string {
	if e == nil {
		return ""
	}
	if f, ok := e.(*ast.FuncType); ok {
		return signature(f)
	}
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
