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

// TestVitalSigns prints the measurements of the tree as a table; go test -v -run TestVitalSigns
// shows it. Other tests hold the limits.
func TestVitalSigns(t *testing.T) {
	t.Parallel()
	tr := load(t)
	var b strings.Builder
	for _, row := range vitalSigns(tr.sources) {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	t.Logf("\n| Sign | Value |\n|---|--:|\n%s\n| Part of the main module | Code | Tests |\n|---|--:|--:|\n%s", b.String(), sizes(tr))
}

func vitalSigns(sources []*source) [][2]string {
	code := slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return s.test })
	functions, _ := functionLengths(code)
	var files []int
	comments, lines := 0, 0
	for _, s := range code {
		files = append(files, s.lines)
		lines += s.lines
		for _, g := range s.file.Comments {
			comments += s.height(g)
		}
	}
	slices.Sort(files)
	commentLines, hits, _ := vagueWords(sources)
	n := count(sources)
	long := len(functions) - indexAbove(functions, longFunction)
	return [][2]string{
		{"packages, internal", fmt.Sprintf("%d, %d", len(folders(code)), len(slices.DeleteFunc(folders(code), func(d string) bool { return !strings.HasPrefix(d, "internal/") })))},
		{"public packages, exported names in them", fmt.Sprintf("%d, %d", len(publicPackages(sources)), n.exported)},
		{"exported names of the root", fmt.Sprint(n.root)},
		{"functions: median, 90th percentile, maximum", fmt.Sprintf("%d, %d, %d", percentile(functions, 50), percentile(functions, 90), functions[len(functions)-1])},
		{"functions of more than 60 lines", fmt.Sprintf("%d of %d", long, len(functions))},
		{"files: median, 90th percentile, maximum", fmt.Sprintf("%d, %d, %d", percentile(files, 50), percentile(files, 90), files[len(files)-1])},
		{"functions of more than four parameters", fmt.Sprint(n.wide)},
		{"interfaces, of at most three methods", fmt.Sprintf("%d, %d", n.interfaces, n.interfaces-n.large)},
		{"comments in a hundred lines", fmt.Sprintf("%.0f", 100*float64(comments)/float64(lines))},
		{"examples, fuzz targets, tests in bubbles", fmt.Sprintf("%d, %d, %d", n.examples, n.fuzz, n.bubbles)},
		{"vague words in a thousand lines of comments", fmt.Sprintf("%.1f", rate(hits, commentLines))},
	}
}

// counts are the numbers of declarations in the tree.
type counts struct{ exported, root, wide, interfaces, large, examples, fuzz, bubbles int }

func count(sources []*source) counts {
	var n counts
	for _, s := range sources {
		for _, d := range s.file.Decls {
			n.declaration(s, d)
		}
		ast.Inspect(s.file, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.InterfaceType:
				if !s.test {
					n.interfaces++
					n.large += btoi(x.Methods.NumFields() > maxMethods)
				}
			case *ast.SelectorExpr:
				n.bubbles += btoi(isSelector(x, "synctest", "Test"))
			}
			return true
		})
	}
	return n
}

func (n *counts) declaration(s *source, d ast.Decl) {
	exported := 0
	switch d := d.(type) {
	case *ast.FuncDecl:
		n.examples += btoi(s.test && strings.HasPrefix(d.Name.Name, "Example"))
		n.fuzz += btoi(s.test && strings.HasPrefix(d.Name.Name, "Fuzz"))
		n.wide += btoi(!s.test && d.Type.Params.NumFields() > maxParams)
		exported = btoi(d.Recv == nil && d.Name.IsExported())
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				exported += btoi(spec.Name.IsExported())
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					exported += btoi(name.IsExported())
				}
			}
		}
	}
	switch {
	case s.test:
	case s.dir() == ".":
		n.root += exported
		n.exported += exported
	case public(s):
		n.exported += exported
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// indexAbove returns the index of the first of the sorted values above limit.
func indexAbove(sorted []int, limit int) int {
	i, _ := slices.BinarySearch(sorted, limit+1)
	return i
}

func folders(sources []*source) []string {
	found := map[string]bool{}
	for _, s := range sources {
		found[s.dir()] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// block returns the folder of the root that dir is in; below cmd and internal, the one below.
func block(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	if first == "internal" || first == "cmd" {
		second, _, _ := strings.Cut(rest, "/")
		return path.Join(first, second)
	}
	return first
}

// The groups of internal form layers: a group does not import, directly or through other
// groups, one that imports it.
func TestGroupsHaveNoCycles(t *testing.T) {
	t.Parallel()
	report(t, cycles(list(t)), "turn one of these imports round: what both groups need belongs below them")
}

func TestGroupsHaveNoCyclesRule(t *testing.T) {
	t.Parallel()
	mustFind(t, cycles(graph(map[string][]string{"internal/a/x": {"internal/b/y"}, "internal/b/y": nil, "internal/b/z": {"internal/c"}, "internal/c": nil, "task": {"internal/c"}})), 0)
	mustFind(t, cycles(graph(map[string][]string{"internal/a/x": {"internal/b/y"}, "internal/b/y": nil, "internal/b/z": {"internal/c"}, "internal/c": {"internal/a/w"}, "internal/a/w": nil})), 3)
}

// cycles returns the imports between groups of internal that are part of a cycle.
func cycles(pkgs map[string]*pkg) []string {
	arrows := map[string]map[string]bool{}
	for _, p := range pkgs {
		from := block(short(p.ImportPath))
		for _, imp := range p.Imports {
			to := block(short(imp))
			if ours(p.ImportPath) && ours(imp) && from != to && strings.HasPrefix(from, "internal/") && strings.HasPrefix(to, "internal/") {
				if arrows[from] == nil {
					arrows[from] = map[string]bool{}
				}
				arrows[from][to] = true
			}
		}
	}
	var problems []string
	for from, tos := range arrows {
		for to := range tos {
			if reaches(arrows, to, from, map[string]bool{}) {
				problems = append(problems, from+" imports "+to)
			}
		}
	}
	return problems
}

func reaches(arrows map[string]map[string]bool, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for next := range arrows[from] {
		if !seen[next] && reaches(arrows, next, to, seen) {
			return true
		}
	}
	return false
}
