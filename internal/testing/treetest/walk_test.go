package treetest

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// The walk of a message in internal/README.md names each file once, and in it the function that is
// called there.
func TestWalk(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, walk(tr, tr.read(t, "internal/README.md")), "correct the table \"One message, file by file\" of internal/README.md")
}

func TestWalkRule(t *testing.T) {
	t.Parallel()
	tr := &tree{sources: []*source{snippet(t, "a/a.go", "package a\n\ntype T struct{}\n\nfunc (T) Do() {}\n\nfunc f() {}\n")}}
	row := func(rest string) string { return "## One message, file by file\n\n| 1 | " + rest + " |\n" }
	mustFind(t, walk(tr, row("`a/a.go` | `T.Do`: does it, and `f`")), 0)
	mustFind(t, walk(tr, row("`a/a.go` | does it")), 0)
	mustFind(t, walk(tr, row("`a/a.go` | `Do`, `g`: does it")), 1)
	mustFind(t, walk(tr, row("`a/b.go` | `f`: does it")), 1)
	mustFind(t, walk(tr, row("`a/a.go` | `f`: does it |\n| 2 | `a/a.go` | `f`: again")), 1)
	mustFind(t, walk(tr, "no table"), 1)
}

var (
	walkRow   = regexp.MustCompile("(?m)^\\| +\\d+ \\| `([^`]+)` \\| (.*) \\|$")
	walkNames = regexp.MustCompile("^`[^`]+`(, `[^`]+`)*")
)

func walk(tr *tree, page string) []string {
	_, section, _ := strings.Cut(page, "## One message, file by file")
	section, _, _ = strings.Cut(section, "\n#")
	rows := walkRow.FindAllStringSubmatch(section, -1)
	if len(rows) == 0 {
		return []string{"no rows"}
	}
	var problems []string
	visited := map[string]bool{}
	for _, row := range rows {
		file, step := row[1], row[2]
		if visited[file] {
			problems = append(problems, file+" is visited twice")
		}
		visited[file] = true
		names := declared(tr, file)
		if names == nil {
			problems = append(problems, "no file "+file)
			continue
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(walkNames.FindString(step), "`", ""), ", ") {
			if name != "" && !names[name] {
				problems = append(problems, file+" does not declare "+name)
			}
		}
	}
	return problems
}

// declared returns the functions and methods of a file, the latter with and without their type; nil
// if there is no such file.
func declared(tr *tree, file string) map[string]bool {
	for _, s := range tr.sources {
		if s.path != file {
			continue
		}
		names := map[string]bool{}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			names[f.Name.Name] = true
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok {
					names[id.Name+"."+f.Name.Name] = true
				}
			}
		}
		return names
	}
	return nil
}
