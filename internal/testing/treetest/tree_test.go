package treetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the module path of the tree.
const module = "github.com/parley-a2a/parley"

// source is one Go file.
type source struct {
	path  string // relative to the root, with slashes
	lines int
	test  bool // its name ends in _test.go
	file  *ast.File
	fset  *token.FileSet
}

// dir returns the folder of s, "." for the root.
func (s *source) dir() string { return path.Dir(s.path) }

// at returns the file and line of p.
func (s *source) at(p token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(p).Line)
}

// height returns the number of lines that n covers.
func (s *source) height(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// tree is the input of all tests.
type tree struct {
	root    string
	files   []string // every file, relative to the root, with slashes
	sources []*source
}

// code returns the sources that are not tests.
func (tr *tree) code() []*source {
	return slices.DeleteFunc(slices.Clone(tr.sources), func(s *source) bool { return s.test })
}

// read returns the content of a file of the tree.
func (tr *tree) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tr.root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("read %s: %v; the tree must have it", name, err)
	}
	return string(b)
}

var (
	loadOnce = sync.OnceValues(loadTree)
	listOnce = sync.OnceValues(listPackages)
)

func load(t *testing.T) *tree {
	t.Helper()
	tr, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// unread are folders that do not belong to the tree.
var unread = map[string]bool{".git": true, "node_modules": true, ".venv": true, "__pycache__": true, "bin": true, "target": true, "parley-data": true}

func loadTree() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	tr := &tree{root: root}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a scratch file of another test
			return nil
		case err != nil:
			return err
		case d.IsDir() && unread[d.Name()]:
			return fs.SkipDir
		case !d.Type().IsRegular(), d.Name() == ".git": // .git is a file in a linked worktree
			return nil
		}
		rel, err := filepath.Rel(root, name)
		tr.files = append(tr.files, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("walk %s: %w", root, err)
	}
	return tr, tr.parse()
}

func (tr *tree) parse() error {
	for _, name := range tr.files {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(tr.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		s, err := parse(name, string(b))
		if err != nil {
			return err
		}
		tr.sources = append(tr.sources, s)
	}
	return nil
}

// parse parses text into a source.
func parse(name, text string) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{
		path:  name,
		lines: strings.Count(text, "\n"),
		test:  strings.HasSuffix(name, "_test.go"),
		file:  file,
		fset:  fset,
	}, nil
}

// snippet parses text for the test of a rule.
func snippet(t *testing.T, name, text string) *source {
	t.Helper()
	s, err := parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// findRoot searches the working folder and its parents for the folder of the main module.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module "+module+"\n") {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("no go.mod of " + module + " above the working folder")
	}
}

// pkg is the output of go list for a package.
type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// short returns the import path of a package of the tree without the module path; "." is the
// root.
func short(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// ours reports whether an import path belongs to the main module.
func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// list returns the packages of the main module and all their dependencies, by path.
func list(t *testing.T) map[string]*pkg {
	t.Helper()
	pkgs, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

func listPackages() (map[string]*pkg, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Name,Standard,Imports,Deps,Module", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	pkgs := map[string]*pkg{}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		p := new(pkg)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode go list: %w", err)
		}
		pkgs[p.ImportPath] = p
	}
}

// report fails t with all problems and their remedy.
func report(t *testing.T, problems []string, todo string) {
	t.Helper()
	if len(problems) > 0 {
		slices.Sort(problems)
		t.Errorf("%s:\n  %s", todo, strings.Join(problems, "\n  "))
	}
}

// mustFind fails t unless want problems were found, so that a rule that no longer finds
// anything is noticed.
func mustFind(t *testing.T, problems []string, want int) {
	t.Helper()
	if len(problems) != want {
		t.Errorf("the rule found %d problems, want %d:\n  %s", len(problems), want, strings.Join(problems, "\n  "))
	}
}
