package treetest

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	t.Parallel()
	report(t, packageComments(load(t).code()), "write package comments that are manuals (what it is, guarantees, "+
		"non-guarantees, concurrency, testing)")
}

func TestPackageCommentsRule(t *testing.T) {
	t.Parallel()
	mustFind(t, packageComments([]*source{snippet(t, "a/a.go", "package a\n")}), 1)
	mustFind(t, packageComments([]*source{snippet(t, "a/a.go", "// Package a is one. It has two.\npackage a\n")}), 1)
	mustFind(t, packageComments([]*source{snippet(t, "a/a.go", "// Something else. With three. Sentences.\npackage a\n")}), 1)
	mustFind(t, packageComments([]*source{snippet(t, "a/a.go", "// Package a is one. It has two. And three.\npackage a\n")}), 0)
	long := "// Package a is one. It has two. And three.\n//\n// # Guarantees\npackage a\n" + strings.Repeat("\n", nontrivial)
	mustFind(t, packageComments([]*source{snippet(t, "a/a.go", long)}), 3)
	mustFind(t, packageComments([]*source{snippet(t, "internal/a/a.go", long)}), 0)
	mustFind(t, packageComments([]*source{snippet(t, "cmd/a/main.go", "// Command a does a thing.\npackage main\n")}), 0)
	mustFind(t, packageComments([]*source{snippet(t, "cmd/a/main.go", "package main\n")}), 1)
}

// nontrivial is the number of lines from which on a public package needs all headings.
const nontrivial = 150

// headings are the required headings of a public package's comment.
var headings = []string{"# Guarantees", "# Non-guarantees", "# Concurrency", "# Testing"}

// sentenceEnd matches the end of a sentence in a comment.
var sentenceEnd = regexp.MustCompile(`[.!?:…][)"]?(\s|$)`)

func packageComments(code []*source) []string {
	type manual struct {
		name  string
		doc   string
		lines int
	}
	dirs := map[string]*manual{}
	for _, s := range code {
		m := dirs[s.dir()]
		if m == nil {
			m = &manual{name: s.file.Name.Name}
			dirs[s.dir()] = m
		}
		m.doc += s.file.Doc.Text()
		m.lines += s.lines
	}
	var problems []string
	for dir, m := range dirs {
		switch n := len(sentenceEnd.FindAllString(m.doc, -1)); {
		case m.doc == "":
			problems = append(problems, dir+": no package comment")
		case m.name == "main":
		case !strings.HasPrefix(m.doc, "Package "+m.name+" "):
			problems = append(problems, fmt.Sprintf("%s: the comment must begin with %q (and stand in one file)", dir, "Package "+m.name))
		case n < 3:
			problems = append(problems, fmt.Sprintf("%s: %d sentences, want at least 3", dir, n))
		case m.lines >= nontrivial && !strings.Contains(dir, "internal/"):
			problems = append(problems, missingHeadings(dir, m.doc)...)
		}
	}
	return problems
}

func missingHeadings(dir, doc string) []string {
	var problems []string
	lines := strings.Split(doc, "\n")
	for _, h := range headings {
		if !slices.Contains(lines, h) {
			problems = append(problems, fmt.Sprintf("%s: no heading %q", dir, h))
		}
	}
	return problems
}

func TestExportedNamesAreDocumented(t *testing.T) {
	t.Parallel()
	report(t, undocumented(load(t).code()), "document these exported names: meaning, units, defaults, zero value, errors")
}

func TestExportedNamesRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a/a.go", `package a

type T struct{}

func (T) M() {}

func F() {}

const C = 1

var (
	V = 1
	// W is documented.
	W = 2
	X = 3 // X is, too.
)

// These are errors.
var (
	ErrA = 1
	ErrB = 2
)

func hidden() {}

type hiddenType struct{}

func (hiddenType) M() {}
`)
	mustFind(t, undocumented([]*source{s}), 5)
	mustFind(t, undocumented([]*source{snippet(t, "a/a.go", "package main\n\nfunc F() {}\n")}), 0)
}

func undocumented(code []*source) []string {
	var problems []string
	for _, s := range code {
		if s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			for _, name := range bare(d) {
				problems = append(problems, s.at(name.Pos())+": "+name.Name)
			}
		}
	}
	return problems
}

// bare returns the exported names that d declares without a comment.
func bare(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc.Text() == "" && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Lparen.IsValid() && d.Doc.Text() != "" {
			return nil
		}
		return bareSpecs(d)
	}
	return nil
}

func bareSpecs(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if d.Doc.Text()+spec.Doc.Text()+spec.Comment.Text() == "" {
				names = append(names, spec.Name)
			}
		case *ast.ValueSpec:
			if d.Doc.Text()+spec.Doc.Text()+spec.Comment.Text() == "" {
				names = append(names, spec.Names...)
			}
		}
	}
	return slices.DeleteFunc(names, func(n *ast.Ident) bool { return !n.IsExported() })
}

// exportedReceiver reports whether d is a function, or a method of an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	var first *ast.Ident
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && first == nil {
			first = id
		}
		return first == nil
	})
	return first.IsExported()
}

func TestCommentsBeginWithTheirNames(t *testing.T) {
	t.Parallel()
	report(t, misnamed(load(t).sources), "begin these comments with the name below, or with a word that is no name")
}

func TestCommentsBeginWithTheirNamesRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a/a.go", `package a

// openAll opens.
func Open() {}

// readAll reads.
func readSome() {}

// Reading is fine, and so is the name itself.
func Read() {}

// Read reads.
func (T) Close() {}

// T is a type.
type T struct{}

// U is another.
type V struct{}

type U struct{}
`)
	mustFind(t, misnamed([]*source{s}), 4)
}

// misnamed returns the declarations whose comment begins with the name of something else: a word in
// mixed case, or another name of the same folder.
func misnamed(sources []*source) []string {
	names := map[string]map[string]bool{} // by folder
	for _, s := range sources {
		if names[s.dir()] == nil {
			names[s.dir()] = map[string]bool{}
		}
		for name := range documented(s) {
			names[s.dir()][name.Name] = true
		}
	}
	var problems []string
	for _, s := range sources {
		for name, doc := range documented(s) {
			word, _, _ := strings.Cut(doc, " ")
			word = strings.TrimRight(word, ".,:;\n")
			if word != name.Name && !ofATest.MatchString(name.Name) && (names[s.dir()][word] || mixed.MatchString(word)) {
				problems = append(problems, s.at(name.Pos())+": "+name.Name+" is called "+word)
			}
		}
	}
	return problems
}

// mixed matches a word that begins with a small letter and has a capital one.
var mixed = regexp.MustCompile(`^[a-z]+[A-Z][A-Za-z0-9]*$`)

// ofATest matches the names of tests, whose comments are sentences about what they test.
var ofATest = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)([A-Z_]|$)`)

// documented yields the functions, methods and types of a file, and variables and constants that are
// declared alone, with their comments.
func documented(s *source) iter.Seq2[*ast.Ident, string] {
	return func(yield func(*ast.Ident, string) bool) {
		for _, d := range s.file.Decls {
			var name *ast.Ident
			var doc string
			switch d := d.(type) {
			case *ast.FuncDecl:
				name, doc = d.Name, d.Doc.Text()
			case *ast.GenDecl:
				if len(d.Specs) != 1 || d.Tok == token.IMPORT {
					continue
				}
				switch spec := d.Specs[0].(type) {
				case *ast.TypeSpec:
					name, doc = spec.Name, d.Doc.Text()
				case *ast.ValueSpec:
					name, doc = spec.Names[0], d.Doc.Text()
				}
			}
			if !yield(name, doc) {
				return
			}
		}
	}
}

func TestCommentsNameWhatExists(t *testing.T) {
	t.Parallel()
	tr := load(t)
	report(t, missing(tr.sources, exported(tr.code())), "the public package has no such name")
}

func TestCommentsNameWhatExistsRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "push/a.go", `package push

// A is like push.B and push.A.F, but not like push.C or a push.A.
type A struct{ F int }

func do() {} // see other.Thing and push.A.G
`)
	api := map[string]bool{"push push.A struct": true, "push push.B func()": true, "push push.A.F int": true}
	mustFind(t, missing([]*source{s}, api), 1)
}

// qualified matches an exported name with the name of its package.
var qualified = regexp.MustCompile(`(?:^|[^\w./])([a-z][a-z0-9]*)\.([A-Z]\w*)`)

// missing returns the names of public packages that comments mention and the API does not have.
func missing(sources []*source, api map[string]bool) []string {
	packages, names := map[string]bool{}, map[string]bool{}
	for line := range api {
		name := strings.Fields(line)[1]
		name, _, _ = strings.Cut(name, "[") // type parameters
		parts := strings.Split(name, ".")
		packages[parts[0]], names[parts[0]+"."+parts[1]] = true, true
	}
	for _, s := range sources { // task is the name of an internal package, too
		pkg := s.file.Name.Name
		if s.test || public(s) || !packages[pkg] {
			continue
		}
		add := func(name, _ string, _ ...any) { names[pkg+"."+name] = true }
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exportedFunc(d, add)
			case *ast.GenDecl:
				exportedDecl(d, add)
			}
		}
	}
	var problems []string
	for _, s := range sources {
		for _, group := range s.file.Comments {
			for _, m := range qualified.FindAllStringSubmatch(group.Text(), -1) {
				if name := m[1] + "." + m[2]; packages[m[1]] && !names[name] {
					problems = append(problems, s.at(group.Pos())+": "+name)
				}
			}
		}
	}
	return problems
}
