package treetest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestContextComesFirst(t *testing.T) {
	t.Parallel()
	report(t, lateContexts(load(t).code()), "make the context the first parameter")
}

func TestContextRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a.go", `package a

import "context"

func good(ctx context.Context, id string) {}

func bad(id string, ctx context.Context) {}

type i interface {
	M(a, b int, ctx context.Context)
}

var f = func(ctx, other context.Context) {}
`)
	mustFind(t, lateContexts([]*source{s}), 2)
}

func lateContexts(code []*source) []string {
	var problems []string
	for _, s := range code {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncType); ok && lateContext(f) {
				problems = append(problems, s.at(f.Pos()))
			}
			return true
		})
	}
	return problems
}

// lateContext reports whether a context follows another parameter.
func lateContext(f *ast.FuncType) bool {
	for i, field := range f.Params.List {
		if i > 0 && isSelector(field.Type, "context", "Context") {
			return true
		}
	}
	return false
}

// isSelector reports whether e is pkg.name.
func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// place is a node with its enclosing nodes, outermost first.
type place struct {
	node   ast.Node
	around []ast.Node
}

// places returns all nodes of s with their enclosing nodes.
func (s *source) places() []place {
	var places []place
	var around []ast.Node
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		places = append(places, place{n, slices.Clone(around)})
		around = append(around, n)
		return true
	})
	return places
}

// calls returns the calls in s with their enclosing nodes.
func (s *source) calls() []place {
	return slices.DeleteFunc(s.places(), func(p place) bool {
		_, ok := p.node.(*ast.CallExpr)
		return !ok
	})
}

func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	report(t, sleeps(load(t).sources), "wait for the event, or sleep in a synctest bubble (a method's comment must say that it runs in one)")
}

func TestSleepRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a_test.go", `package a

import ("testing"; "testing/synctest"; "time")

func TestA(t *testing.T) {
	time.Sleep(1) // wrong
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1)
		helper()
		both()
	})
	synctest.Test(t, body)
	both()
}

func body(t *testing.T) { time.Sleep(1) }

func helper() { deeper() }

func deeper() { time.Sleep(1) }

func both() { time.Sleep(1) } // wrong

func unused() { time.Sleep(1) } // wrong

// tick runs in a bubble.
func (f fake) tick() { time.Sleep(1) }
`)
	mustFind(t, sleeps([]*source{s}), 3)
}

func sleeps(sources []*source) []string {
	dirs := map[string][]*source{}
	for _, s := range sources {
		if s.test || imports(s, "testing") {
			dirs[s.dir()] = append(dirs[s.dir()], s)
		}
	}
	var problems []string
	for _, tests := range dirs {
		bubbled := bubbledFuncs(tests)
		for _, s := range tests {
			for _, p := range s.places() {
				if call, ok := p.node.(*ast.CallExpr); ok && isSelector(call.Fun, "time", "Sleep") && !p.inBubble(bubbled) {
					problems = append(problems, s.at(call.Pos()))
				}
			}
		}
	}
	return problems
}

func TestSleepsInBubblesSettle(t *testing.T) {
	t.Parallel()
	report(t, unsettled(load(t).sources), "call synctest.Wait after the sleep: what is due at its end happens in any order with what follows")
}

func TestSettleRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a_test.go", `package a

import ("testing"; "testing/synctest"; "time")

func TestA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go func() { time.Sleep(1); println() }()
		for {
			time.Sleep(1) // wrong
		}
		time.Sleep(1)
		synctest.Wait()
		time.Sleep(1) // wrong
		println()
	})
}
`)
	mustFind(t, unsettled([]*source{s}), 2)
}

// unsettled returns the sleeps of tests in bubbles after which the test continues although other goroutines may
// wake at the same time. Sleeps in functions of such a test are those of other goroutines.
func unsettled(sources []*source) (problems []string) {
	for _, s := range sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSelector(call.Fun, "synctest", "Test") {
				if f, ok := call.Args[1].(*ast.FuncLit); ok {
					problems = append(problems, s.unsettledIn(f.Body)...)
				}
			}
			return true
		})
	}
	return problems
}

func (s *source) unsettledIn(block *ast.BlockStmt) (problems []string) {
	for i, stmt := range block.List {
		if isCallOf(stmt, "time", "Sleep") && (i == len(block.List)-1 || !isCallOf(block.List[i+1], "synctest", "Wait")) {
			problems = append(problems, s.at(stmt.Pos()))
		}
		ast.Inspect(stmt, func(n ast.Node) bool {
			if b, ok := n.(*ast.BlockStmt); ok {
				problems = append(problems, s.unsettledIn(b)...)
				return false
			}
			_, ok := n.(*ast.FuncLit)
			return !ok
		})
	}
	return problems
}

// isCallOf reports whether a statement calls a function of a package.
func isCallOf(stmt ast.Stmt, pkg, name string) bool {
	e, ok := stmt.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	return ok && isSelector(call.Fun, pkg, name)
}

// bubbledFuncs returns the names of the functions that are used in bubbles only: in a call of
// synctest.Test or in another such function.
func bubbledFuncs(tests []*source) map[string]bool {
	uses := map[string][]place{}
	bubbled := map[string]bool{}
	for _, s := range tests {
		for _, p := range s.places() {
			switch n := p.node.(type) {
			case *ast.FuncDecl:
				bubbled[n.Name.Name] = true
			case *ast.Ident:
				if f, ok := p.around[len(p.around)-1].(*ast.FuncDecl); !ok || f.Name != n {
					uses[n.Name] = append(uses[n.Name], p)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name := range bubbled {
			outside := func(p place) bool { return !p.inBubble(bubbled) }
			if len(uses[name]) == 0 || slices.ContainsFunc(uses[name], outside) {
				delete(bubbled, name)
				changed = true
			}
		}
	}
	return bubbled
}

// inBubble reports whether p is inside a call of synctest.Test, or in a function that is in
// bubbled or whose comment contains the word bubble.
func (p place) inBubble(bubbled map[string]bool) bool {
	return slices.ContainsFunc(p.around, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return isSelector(n.Fun, "synctest", "Test")
		case *ast.FuncDecl:
			return bubbled[n.Name.Name] || strings.Contains(n.Doc.Text(), "bubble")
		}
		return false
	})
}

// imports reports whether s imports the package with this path.
func imports(s *source, path string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"`+path+`"`
	})
}

func TestSkipsGoThroughNeed(t *testing.T) {
	t.Parallel()
	report(t, skips(load(t).sources), "say what is missing with package internal/testing/testenv, which fails in CI; to drop an input of a fuzz target, return")
}

func TestSkipRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a/a_test.go", `package a

func TestA(t *testing.T) {
	t.Skip("no")
	if testing.Short() {
		t.SkipNow()
	}
	rapid.Check(t, func(t *rapid.T) { t.Skip("no such draw") })
	need.Tool(t, "sh")
	b.r.Skip(3)
}

func helper(tb testing.TB) { tb.Skipf("%d", 1) }
`)
	mustFind(t, skips([]*source{s}), 4)
}

func skips(sources []*source) []string {
	var problems []string
	for _, s := range sources {
		if s.dir() == "internal/testing/testenv" {
			continue
		}
		for _, p := range s.calls() {
			fun := p.node.(*ast.CallExpr).Fun
			if isSelector(fun, "testing", "Short") || p.skips(fun) {
				problems = append(problems, s.at(p.node.Pos()))
			}
		}
	}
	return problems
}

// skips reports whether fun is the Skip method of a testing parameter.
func (p place) skips(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	typ := p.typeOf(id.Name)
	return typ != nil && slices.ContainsFunc([]string{"T", "B", "F", "TB"}, func(name string) bool {
		return isSelector(typ, "testing", name)
	})
}

// typeOf returns the type of the named parameter of the innermost function around p that has
// one. For a pointer it returns the element type.
func (p place) typeOf(name string) ast.Expr {
	for _, n := range slices.Backward(p.around) {
		var f *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			f = n.Type
		case *ast.FuncLit:
			f = n.Type
		default:
			continue
		}
		for _, field := range f.Params.List {
			for _, id := range field.Names {
				if id.Name == name {
					return pointee(field.Type)
				}
			}
		}
	}
	return nil
}

func pointee(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		return star.X
	}
	return e
}

// scriptSkip matches a skip in a script that does not depend on the operating system.
var scriptSkip = regexp.MustCompile(`(?m)^(\[!?(short|exec:[^\]]*|net)\] *)?(skip|stop)\b`)

func TestScriptsDoNotSkip(t *testing.T) {
	t.Parallel()
	tr := load(t)
	var problems []string
	for _, name := range tr.files {
		if strings.HasSuffix(name, ".txtar") && strings.Contains(name, "/testdata/") && scriptSkip.MatchString(tr.read(t, name)) {
			problems = append(problems, name)
		}
	}
	report(t, problems, "these scripts skip; only another operating system is a reason")
}

func TestScriptSkipRule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"exec parley\nskip later\n":   true,
		"[!exec:sh] skip 'no shell'":  true,
		"[windows] skip 'no signals'": false,
		"exec parley --skip\n":        false,
	} {
		if got := scriptSkip.MatchString(text); got != want {
			t.Errorf("the rule matches %q: %v, want %v", text, got, want)
		}
	}
}

func TestCommandsLeaveTestsAlone(t *testing.T) {
	t.Parallel()
	report(t, foreignTests(load(t).sources), "a command of a script runs in another test, which t.Skip or t.Fatal would end without a result: ask before the scripts begin, or in Setup with env.T()")
}

func TestCommandRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a/a_test.go", `package a

func TestA(t *testing.T) {
	server := start(t)
	run(t, cmds{
		"bad": func(ts *testscript.TestScript, neg bool, args []string) { start(t) },
		"good": func(ts *testscript.TestScript, neg bool, args []string) { ts.Setenv("URL", server.url) },
	})
}

func worse(t *testing.T, ts *testscript.TestScript) { start(nil) }
`)
	mustFind(t, foreignTests([]*source{s}), 2)
}

// foreignTests returns the places where a command of a script knows a test.
func foreignTests(sources []*source) []string {
	var problems []string
	for _, s := range sources {
		for _, p := range s.places() {
			id, ok := p.node.(*ast.Ident)
			if ok && isSelector(p.typeOf(id.Name), "testing", "T") && p.inCommand() {
				problems = append(problems, s.at(id.Pos()))
			}
		}
	}
	return problems
}

// inCommand reports whether p is in a command of a script.
func (p place) inCommand() bool {
	return slices.ContainsFunc(p.around, func(n ast.Node) bool {
		var f *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			f = n.Type
		case *ast.FuncLit:
			f = n.Type
		default:
			return false
		}
		return slices.ContainsFunc(f.Params.List, func(field *ast.Field) bool {
			return isSelector(pointee(field.Type), "testscript", "TestScript")
		})
	})
}

// marks matches the words of unfinished work. The pattern is written in pieces so that this
// file does not match.
var marks = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|panic\("(soon|not implemented|unimplemented)`)

func TestNothingIsMarkedUnfinished(t *testing.T) {
	t.Parallel()
	tr := load(t)
	var problems []string
	for _, s := range tr.sources {
		problems = append(problems, unfinished(s.path, tr.read(t, s.path))...)
	}
	report(t, problems, "finish these, or write them into docs/rough-edges.md")
}

func TestUnfinishedRule(t *testing.T) {
	t.Parallel()
	mustFind(t, unfinished("a.go", "// TO"+"DO: more\nfunc f() { panic(\"so"+"on\") }\n"), 2)
	mustFind(t, unfinished("a.go", "// All done.\n"), 0)
}

func unfinished(name, text string) []string {
	var problems []string
	for i, line := range strings.Split(text, "\n") {
		if marks.MatchString(line) {
			problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSpace(line)))
		}
	}
	return problems
}

func TestGoroutinesHaveOwners(t *testing.T) {
	t.Parallel()
	report(t, looseGoroutines(load(t).code()), "start goroutines with WaitGroup.Go or an errgroup whose owner waits, "+
		"or say on the line of the go statement when they end")
}

func TestGoroutineRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a.go", `package a

func f() {
	go f()
	go f() // ends with f
	var wg sync.WaitGroup
	wg.Go(f)
}
`)
	mustFind(t, looseGoroutines([]*source{s}), 1)
}

func looseGoroutines(code []*source) []string {
	var problems []string
	for _, s := range code {
		argued := s.commentLines()
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && !argued[s.fset.Position(g.Go).Line] {
				problems = append(problems, s.at(g.Go))
			}
			return true
		})
	}
	return problems
}

// commentLines returns the lines on which a comment begins.
func (s *source) commentLines() map[int]bool {
	lines := map[int]bool{}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			lines[s.fset.Position(c.Slash).Line] = true
		}
	}
	return lines
}

func TestLeaksAreLookedFor(t *testing.T) {
	t.Parallel()
	report(t, unwatched(load(t).sources), "these packages start goroutines; call goleak.VerifyTestMain in TestMain")
}

func TestLeakRule(t *testing.T) {
	t.Parallel()
	code := snippet(t, "a/a.go", "package a\n\nfunc f() { wg.Go(f) }\n")
	bare := snippet(t, "a/a_test.go", "package a\n")
	watched := snippet(t, "a/main_test.go", "package a\n\nimport \"go.uber.org/goleak\"\n")
	mustFind(t, unwatched([]*source{code, bare}), 1)
	mustFind(t, unwatched([]*source{code, bare, watched}), 0)
	mustFind(t, unwatched([]*source{bare}), 0)
}

// unwatched returns the packages that start goroutines and whose tests do not check for leaks.
func unwatched(sources []*source) []string {
	starts, watches := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		if s.test {
			watches[s.dir()] = watches[s.dir()] || imports(s, "go.uber.org/goleak")
			continue
		}
		for _, p := range s.calls() {
			if sel, ok := p.node.(*ast.CallExpr).Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" {
				starts[s.dir()] = true
			}
		}
	}
	var problems []string
	for dir := range starts {
		if watched, tested := watches[dir]; tested && !watched {
			problems = append(problems, dir)
		}
	}
	return problems
}

func TestErrorsNameTheOperation(t *testing.T) {
	t.Parallel()
	report(t, wordyErrors(load(t).code()), `say the operation and its subject ("append %s: %w"), not that it failed`)
}

func TestErrorsRule(t *testing.T) {
	t.Parallel()
	s := snippet(t, "a.go", `package a

var (
	_ = fmt.Errorf("failed to open %s", name)
	_ = errors.New("could not open")
	_ = fmt.Errorf("open %s: %w", name, err)
	_ = fmt.Sprintf("3 failed to open")
)
`)
	mustFind(t, wordyErrors([]*source{s}), 2)
}

var wordy = regexp.MustCompile(`^["` + "`" + `](failed to|could not|unable to|error )`)

func wordyErrors(code []*source) []string {
	var problems []string
	for _, s := range code {
		for _, p := range s.calls() {
			call := p.node.(*ast.CallExpr)
			if len(call.Args) == 0 || !isSelector(call.Fun, "fmt", "Errorf") && !isSelector(call.Fun, "errors", "New") {
				continue
			}
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && wordy.MatchString(lit.Value) {
				problems = append(problems, s.at(lit.Pos())+": "+lit.Value)
			}
		}
	}
	return problems
}
